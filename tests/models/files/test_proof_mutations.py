"""Every change of a proof: refused, or a proof of something else that is true."""

from __future__ import annotations

import copy

import pytest

import fairlp
import fairlp_check
from fairlp.solvers.leximin.exact import ExactRounds
from proof_files import checked, fingerprint, mutations, program_of, written

pytest.importorskip("flint")

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
def proof(tmp_path):
    data = written(fairlp.allocate(instance(), "drfh").certify(exact=True), tmp_path / "proof.json")
    assert len(data["rounds"]) == 3 and data["notes"] and None in [one[1] for one in data["statement"]["levels"]]
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


def tried(data, part, after=lambda: None):
    """Paths of all mutations of a part of a proof, and of those that were accepted."""
    right, paths, kept = copy.deepcopy(data), [], []
    for path, do, undo in mutations(data[part], (part,)) if part else mutations(data):
        do()
        after()
        paths.append(path)
        if accepted(data):
            kept.append((path, copy.deepcopy(data["statement"])))
        undo()
        after()
    assert data == right and accepted(data)
    return paths, kept


def test_every_change_is_refused_but_of_words_for_readers(proof):
    """The fingerprint is of the statement alone: changes of the rounds are refused by what they ought to prove."""
    paths, kept = tried(proof, "")
    assert len(paths) > 3000 and {path for path, _ in kept} == FREE
    assert {path[0] for path in paths} == {*proof, "new"}
    assert sum(path[0] == "rounds" for path in paths) > 1500


def test_another_statement_is_accepted_only_when_it_is_true(proof):
    """A forger can put the right fingerprint on another statement; what is then accepted is solved again, exactly."""
    paths, kept = tried(proof, "statement", lambda: fingerprint(proof))
    assert len(paths) > 500 and 0 < len(kept) < len(paths) / 10
    solved = 0
    for path, statement in kept:
        if path in NAMES:
            continue
        rows = [one for one in statement["levels"] if one[1] is not None]
        try:
            program = program_of(statement)
        except AssertionError:  # by a tiny step no float any more: as far off as nothing
            continue
        found = ExactRounds(program, [one[1] for one in rows], statement["level_column"]).run()
        assert found.proved and [str(level) for level in found.levels] == [one[2] for one in rows], path
        solved += 1
    assert solved > 5


def test_an_optimum_of_one_program(tmp_path):
    solution = fairlp.formulate(instance(), "tsf").solve(method="simplex")
    data = written(solution.certify(exact=True), tmp_path / "one.json")
    assert checked(tmp_path / "one.json")[0] == 0
    paths, kept = tried(data, "")
    assert len(paths) > 500 and {path for path, _ in kept} <= FREE
