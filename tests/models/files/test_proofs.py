"""Proofs in files: written for whatever max-min mechanisms give, checked by Python alone, refused when planted."""

from __future__ import annotations

import ast
import copy
import dataclasses
import json
import sys

import numpy as np
import pytest

import fairlp
import fairlp_check
from cli_runner import python, run
from fairlp import examples
from fairlp.errors import FileFormatError, NoSolutionError, NotDefinedError, UnsupportedError
from fairlp.models.programs.proof import Proof
from fairlp.solvers.leximin.exact import ServersInRationals
from instances import random_instance
from own_mechanisms import memory_first
from profiles import many
from proof_files import CHECKER, checked, fingerprint, mutations, program_of, written

pytest.importorskip("flint")


def first():
    return fairlp.allocate(examples.load("khamse-ashari-figure-1"), "tsf")


def two_rounds():
    """One user is blocked by its only server, the other goes on."""
    instance = fairlp.Instance.from_arrays([[1], [1]], [[2], [6]], eligible=[[1, 0], [0, 1]])
    return fairlp.allocate(instance, "drfh")


@pytest.fixture
def proof(tmp_path):
    data = written(two_rounds().certify(exact=True), tmp_path / "two.json")
    assert [level[2] for level in data["statement"]["levels"]] == ["1/4", "3/4"] and len(
        data["rounds"]
    ) == 2
    return data


def why(data):
    """What the checker says of a proof whose fingerprint is that of its statement."""
    fingerprint(data)
    with pytest.raises(fairlp_check.RefusedError) as caught:
        fairlp_check.check(data)
    return str(caught.value)


def test_the_checker_is_short_and_needs_nothing_but_python():
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            imported.add(node.module)
    assert imported == {"__future__", "argparse", "fractions", "hashlib", "json", "sys", "typing"}
    assert imported <= sys.stdlib_module_names
    assert not {"eval", "exec", "compile", "__import__"} & {
        n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)
    }


def test_a_proof_is_checked_by_an_interpreter_without_packages(tmp_path):
    path = tmp_path / "proof.json"
    data = written(first().certify(exact=True), path)
    code, message = checked(path)
    assert code == 0 and message.startswith(
        "proved: the leximin of 'max-min', 3 levels in 1 rounds; statement "
    )
    assert data["sha256"] in message
    assert python("-m", "fairlp_check", str(path)).returncode == 0


@pytest.mark.parametrize("mechanism", ["drfh", "c-drfh", "tsf", "asset", "cdrf", "drf", "edrf"])
def test_every_max_min_mechanism_is_proved(mechanism, tmp_path):
    """With weights, limits, eligibility, ties, zeros, equal servers and proportional users."""
    one_server = mechanism in ("drf", "edrf")
    largest_rounds = 0
    for seed in range(many(160) if one_server else many(32)):
        free = mechanism == "cdrf"
        instance = random_instance(
            seed,
            servers=1 if one_server else None,
            constraints=not free,
            integers=seed % 2 == 0,
        )
        verdict = fairlp.allocate(instance, mechanism).certify(exact=True)
        if not any(level is not None for level in verdict.levels):
            continue
        data = written(verdict, tmp_path / "proof.json")
        assert fairlp_check.check(data).startswith("the leximin")
        assert [level[2] for level in data["statement"]["levels"]] == [
            None if level is None else str(level) for level in verdict.levels
        ]
        largest_rounds = max(largest_rounds, len(data["rounds"]))
    assert largest_rounds > 1 and checked(tmp_path / "proof.json")[0] == 0


def test_weights_by_resource_and_names_that_collide(tmp_path):
    weights = [[1, 2], [3, 1]]
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1]],
        [[9, 8], [4, 5]],
        weights=weights,
        users=["a,b", "a"],
        servers=["c", "b,c"],
    )
    data = written(fairlp.allocate(instance, "drfh").certify(exact=True), tmp_path / "p.json")
    names = [column[0] for column in data["statement"]["program"]["columns"]]
    assert len(set(names)) < len(names) and fairlp_check.check(data)


def test_a_leximin_of_any_model_and_a_mechanism_of_ones_own(tmp_path):
    model = fairlp.formulate(examples.load("wang-figure-1"), "drfh")
    data = written(fairlp.leximin(model).certify(exact=True), tmp_path / "any.json")
    assert fairlp_check.check(data) and {level[3] for level in data["statement"]["levels"]} == {
        None
    }
    verdict = fairlp.allocate(examples.load("ghodsi"), memory_first).certify(exact=True)
    assert fairlp_check.check(written(verdict, tmp_path / "own.json")).startswith(
        "the leximin of 'Memory first'"
    )


def test_a_maximum_and_a_minimum_with_every_status(tmp_path):
    x = fairlp.Index("k", ["a", "b", "c", "d"])
    for sense in ("minimize", "maximize"):
        model = fairlp.Model("bounds", "", (x,))
        v = model.variable("v", x, lower=[-np.inf, 1, 0, 3], upper=[np.inf, 5, 2, 3])
        model.constraint("sum", v.sum(x) == 10)
        model.constraint("range", (v["a"] - v["c"]).between(-4, 4))
        getattr(model, sense)(v["a"] + 2 * v["b"] - v["c"] + 0.5)
        data = written(model.solve(method="simplex").certify(exact=True), tmp_path / "p.json")
        assert fairlp_check.check(data).startswith("an optimum of 'bounds'")
        assert {"basic", "fixed"} <= {
            entry[1] for side in ("columns", "rows") for entry in data["rounds"][0][side]
        }


def test_only_what_is_proved_and_rests_on_programs_is_written(tmp_path):
    path, instance = tmp_path / "proof.json", examples.load("ghodsi")
    allocation = first()
    wrong_allocation = dataclasses.replace(allocation, tasks_array=allocation.tasks_array * 0.9)
    with pytest.raises(NoSolutionError, match="no proof to write: not optimal: user "):
        wrong_allocation.certify(exact=True).write(path)
    with pytest.raises(
        UnsupportedError, match=r"certify\(exact=True\) of an allocation by a max-min mechanism"
    ):
        allocation.certify().write(path)
    with pytest.raises(UnsupportedError, match="whole tasks are proved by other means"):
        fairlp.allocate(instance, "psdsf-rdm").certify().write(path)
    with pytest.raises(NotDefinedError, match=r"no exact certificate .* Fixed points \(PS-DSF\)"):
        fairlp.allocate(instance, "psdsf-rdm").certify(exact=True)
    queued = fairlp.Instance.from_arrays([[1, 0], [0, 1]], [[4, 4]], queue=["a", "a"])
    verdict = fairlp.allocate(queued, "h-drf").certify(exact=True)
    with pytest.raises(UnsupportedError, match="rates change whenever a user stops"):
        verdict.write(path)
    with pytest.raises(FileFormatError, match=r"written as \.json, not as"):
        allocation.certify(exact=True).write(tmp_path / "proof.txt")
    idle = fairlp.Instance.from_arrays([[1.0]], [[1.0]], task_limits=[0])
    with pytest.raises(UnsupportedError, match="no user can have anything"):
        fairlp.allocate(idle, "drfh").certify(exact=True).write(path)
    assert verdict.holds and not path.exists() and isinstance(Proof(True, "").exact, str)


def test_whoever_is_blocked_too_early_is_refused(proof):
    """Round 1 is an optimum; that the second user stops there too is what no dual says."""
    forged = copy.deepcopy(proof)
    floor = forged["rounds"][0]["blocked"][0][1]
    forged["statement"]["levels"][1][2:] = ["1/4", "1/4"]
    forged["rounds"] = forged["rounds"][:1]
    assert "no round blocks it" in why(forged)
    forged["rounds"][0]["blocked"].append(["fairness[user2]", floor])
    assert "blocked are others" in why(forged)


@pytest.mark.slow
def test_hostile_files_are_unreadable_in_one_line(proof, tmp_path):
    path = tmp_path / "hostile.json"
    text = json.dumps(proof)
    cases = {
        "": "Expecting value",
        "[" * 100_000: "recursion",
        '{"format": 1, "format": 2}': "a field twice",
        text.replace('"version": 1', '"version": true'): "version 1",
        text.replace('"version": 1', '"version": 2'): "version 1",
        text.replace('"value": "1/4"', '"value": "1e999999999"'): "rational",
        text.replace('"value": "1/4"', '"value": "' + "9" * 1_000_001 + '"'): "digits",
        text.replace('"value": "1/4"', '"value": "1/' + "9" * 100_001 + '"'): (
            "round 1: 100001 digits; expected at most 100000"
        ),
        text.replace('"level_column": ', '"level_column": ' + "9" * 100_001): "digits",
        text.replace('"value": "1/4"', '"value": "1/0"'): "rational",
        text.replace('"value": "1/4"', '"value": "None"'): "rational",
        text.replace('"value": "1/4"', '"value": NaN'): "rational",
        text.replace('"basic"', "[[]]"): "round 1: column: expected a list of lists of 3",
        text.replace('"max"', "[[]]"): "a name and a sense",
        json.dumps([proof]): "expected an object",
    }
    for content, message in cases.items():
        assert content != text
        path.write_text(content, encoding="utf-8")
        code, output = checked(path)
        assert (
            code == 2
            and output.startswith("unreadable: ")
            and output.count("\n") == 1
            and message in output
        ), output[:300]
    path.write_bytes(b"\xff\xfe{")
    assert (
        checked(path)[0] == 2
        and checked(tmp_path / "none.json")[0] == 2
        and checked(tmp_path)[0] == 2
    )


def test_huge_numbers_and_strange_names_are_fine(proof, tmp_path):
    data = copy.deepcopy(proof)
    data["title"] = "\ud800\x1b[31m"
    data["statement"]["levels"][0][0] = "\ud800\x1b[31m"
    data["statement"]["program"]["rows"][0][2] = "9" * 100_000
    fingerprint(data)
    path = tmp_path / "strange.json"
    path.write_text(json.dumps(data), encoding="ascii")
    code, message = checked(path)
    assert (
        code == 1
        and message.isascii()
        and "\x1b" not in message
        and "row 'capacity[server1,resource1]'" in message
    )


def test_the_command_line_writes_a_proof(tmp_path):
    path = tmp_path / "proof.json"
    result = run("allocate", "ghodsi", "-m", "drf", "--proof", path)
    assert f"wrote {path}" in result.stderr and checked(path)[0] == 0
    result = run("allocate", "ghodsi", "-m", "psdsf-rdm", "--proof", tmp_path / "none.json", code=3)
    assert "no exact certificate" in result.output
    assert not (tmp_path / "none.json").exists()


#: What may be anything of its type: words for readers.
FREE = {("title",), ("notes", 0)}


#: What is part of the statement, and says nothing: how things are called.
NAMES = {("statement", "program", "name"), *((("statement", "levels", k, 0)) for k in range(4))}


def instance():
    """Three users who stop in different rounds, one with a limit, one who can run nowhere, and two equal servers."""
    return fairlp.Instance.from_arrays(
        [[1, 2], [2, 1], [1, 0.1], [1, 1]],
        [[2, 3], [3, 7], [3, 7]],
        eligible=[[1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0]],
        task_limits=[float("inf"), float("inf"), 1, 0],
        weights=[1, 2, 1, 1],
    )


@pytest.fixture
def three_rounds(tmp_path):
    data = written(fairlp.allocate(instance(), "drfh").certify(exact=True), tmp_path / "proof.json")
    assert (
        len(data["rounds"]) == 3
        and data["notes"]
        and None in [level[1] for level in data["statement"]["levels"]]
    )
    return data


def accepted(data):
    """Whether the checker takes it; a file that it does not is refused for a reason, never by a crash."""
    try:
        fairlp_check.check(data)
    except fairlp_check.RefusedError as error:
        assert str(error)
        return False
    except ValueError as error:
        assert str(error) and type(error) is ValueError
        return False
    return True


def tried(data, section, after=lambda: None):
    """Paths of all mutations of a part of a proof, and of those that were accepted."""
    right, paths, accepted_changes = copy.deepcopy(data), [], []
    for path, do, undo in mutations(data[section], (section,)) if section else mutations(data):
        do()
        after()
        paths.append(path)
        if accepted(data):
            accepted_changes.append((path, copy.deepcopy(data["statement"])))
        undo()
        after()
    assert data == right and accepted(data)
    return paths, accepted_changes


@pytest.mark.slow
def test_every_change_is_refused_but_of_words_for_readers(three_rounds):
    """The fingerprint is of the statement alone: changes of the rounds are refused by what they ought to prove."""
    paths, accepted_changes = tried(three_rounds, "")
    assert len(paths) > 3000 and {path for path, _ in accepted_changes} == FREE
    assert {path[0] for path in paths} == {*three_rounds, "new"}
    assert sum(path[0] == "rounds" for path in paths) > 1500


@pytest.mark.slow
def test_another_statement_is_accepted_only_when_it_is_true(three_rounds):
    """A forger can put the right fingerprint on another statement; what is then accepted is solved again, exactly."""
    paths, accepted_changes = tried(three_rounds, "statement", lambda: fingerprint(three_rounds))
    assert len(paths) > 500 and 0 < len(accepted_changes) < len(paths) / 10
    solved = 0
    for path, statement in accepted_changes:
        if path in NAMES:
            continue
        rows = [level for level in statement["levels"] if level[1] is not None]
        try:
            program = program_of(statement)
        except AssertionError:  # by a tiny step no float any more: as far off as nothing
            continue
        outcome = ServersInRationals(
            program, [row[1] for row in rows], statement["level_column"]
        ).run()
        assert outcome.holds and [str(level) for level in outcome.levels] == [
            row[2] for row in rows
        ], path
        solved += 1
    assert solved > 5


@pytest.mark.slow
def test_an_optimum_of_one_program(tmp_path):
    solution = fairlp.formulate(instance(), "tsf").solve(method="simplex")
    data = written(solution.certify(exact=True), tmp_path / "one.json")
    assert checked(tmp_path / "one.json")[0] == 0
    paths, accepted_changes = tried(data, "")
    assert len(paths) > 500 and {path for path, _ in accepted_changes} <= FREE


def test_programs_that_are_no_leximin_are_refused(proof):
    """By the row or column that is wrong, before any round is looked at."""
    program = proof["statement"]["program"]
    t = proof["statement"]["level_column"]
    fairness_row = [row[0] for row in program["rows"]].index("fairness[user1]")

    def forged(change):
        data = copy.deepcopy(proof)
        change(data["statement"]["program"])
        return why(data)

    assert "column 'x[user1,server1]': a leximin" in forged(
        lambda p: p["columns"][0].__setitem__(1, "1")
    )
    assert "column 't': a leximin" in forged(lambda p: p["columns"][t].__setitem__(1, "-1"))
    assert "a leximin maximises" in forged(lambda p: p.update(sense="min"))
    for change in (
        lambda p: p["rows"][fairness_row].__setitem__(2, "100"),
        lambda p: p["rows"][fairness_row].__setitem__(1, None),
        lambda p: p["rows"][fairness_row][3].pop(),
        lambda p: p["rows"][fairness_row][3][-1].__setitem__(1, "8"),
    ):
        assert "row 'fairness[user1]': rows of levels" in forged(change)
    assert "row 'capacity[server1,resource1]': rows of levels" in forged(
        lambda p: p["rows"][0][3].append([t, "-1"])
    )
    proof["statement"]["levels"].append(["user3", fairness_row, "1/4", None])
    assert why(proof) == "level of 'user3': no row of its own, or no level"
