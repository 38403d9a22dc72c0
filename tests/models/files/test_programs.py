"""Model files of either format: edited, explained by a side file, packed, no text, or very long."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest

from fairlp import Index, Model
from fairlp.errors import FileFormatError
from fairlp.models.files.programs import read_program
from program_files import GOOD

USERS, SERVERS = Index("n", ["ann", "bob"], "user"), Index("i", ["s", "t"], "server")


def written(folder, ending):
    """A model with ranges and two blocks of columns, written to a file."""
    users_model = Model("m", indices=(USERS, SERVERS))
    x, y = users_model.variable("x", USERS, SERVERS, upper=3), users_model.variable("y", USERS)
    users_model.constraint("most", (x.sum(SERVERS) + y).between(1, 4))
    users_model.maximize(x.sum() + 2 * y.sum())
    users_model.write(path := folder / f"m{ending}")
    return path


def edited(path, old, new):
    text = path.read_text(encoding="ascii")
    assert old in text
    path.write_text(text.replace(old, new), encoding="ascii")
    return read_program(path)


def test_two_rows_of_a_range_that_were_made_different_stay_two(tmp_path):
    path = written(tmp_path, ".lp")
    assert read_program(path).n_rows == 2
    edited_program = edited(path, "most.ann.upper: x.ann.s +", "most.ann.upper: 2 x.ann.s +")
    assert edited_program.n_rows == 3  # that of bob is one still
    assert edited_program.row_lower.tolist() == [
        1,
        -np.inf,
        1,
    ] and edited_program.row_upper.tolist() == [
        np.inf,
        4,
        4,
    ]
    assert edited_program.A.toarray()[:2, 0].tolist() == [1, 2]


def test_columns_in_another_order_come_back_to_their_blocks(tmp_path):
    path = written(tmp_path, ".lp")
    program = read_program(path)
    edited_program = edited(
        path,
        "x.ann.s + x.ann.t + x.bob.s + x.bob.t + 2 y.ann +",
        "x.ann.s + 2 y.ann + x.ann.t + x.bob.s + x.bob.t +",
    )
    assert [block.name for block in edited_program.columns] == ["x", "y"]
    assert edited_program.column_names == program.column_names
    assert (
        edited_program.c.tolist() == program.c.tolist() and (edited_program.A != program.A).nnz == 0
    )


def explained(path, names):
    """The program, with a side file that explains its columns."""
    entries = {
        name: {"block": "x", "labels": labels, "name": f"x[{','.join(labels)}]"}
        for name, labels in names.items()
    }
    path.with_name(path.name + ".names.json").write_text(
        json.dumps({"rows": {}, "columns": entries}), encoding="utf-8"
    )
    return read_program(path)


def test_labels_that_are_not_unique_are_whole_names(tmp_path):
    names = ("x.ann.s", "x.ann.t", "x.bob.s", "x.bob.t")
    explanation = explained(written(tmp_path, ".mps"), {name: ["ann", "s"] for name in names})
    assert len(explanation.columns) == 1
    assert explanation.column_names[:4] == ["x[ann,s]"] * 4


def test_paths(tmp_path):
    (tmp_path / "model.mps").write_text(GOOD.format(free=""), encoding="utf-8")
    (tmp_path / "folder.mps").mkdir()
    for name, match in (
        ("modell.mps", "no file '.*modell.mps'.*did you mean 'model.mps'"),
        ("no/model.mps", "there is no folder"),
        ("folder.mps", "cannot be read"),
        (
            "model.txt",
            r"cannot tell the format of 'model.txt'; expected .mps, .lp, .mps.gz or .lp.gz",
        ),
        ("model.gz", "cannot tell the format"),
        ("mps", "cannot tell the format"),
    ):
        with pytest.raises(FileFormatError, match=match):
            read_program(tmp_path / name)


SMALL = GOOD.format(free="")


LP = "min\n o: x\nst\n c: x >= 1\n"


LARGE = {
    "spaces.mps": lambda n: SMALL.replace(" y r1 1", " " * n + "y r1 1"),
    "no line ends.mps": lambda n: "NAME t\nROWS\n N " + "a" * n,
    "digits.mps": lambda n: SMALL.replace(" y r1 1", " y r1 0." + "1" * n),
    "titles.mps": lambda n: SMALL.replace("BOUNDS", "OBJSENSE\n" + "MAX\n" * (n // 8)),
    "dollars.mps": lambda n: SMALL.replace(" y r1 1", " y r1 1" + " a" * (n // 2) + "$"),
    "markers.mps": lambda n: SMALL.replace(" y r1 1", " M 'MARKER' 'INTORG'\n" * (n // 21)),
    "unknown rows.mps": lambda n: SMALL.replace(" y r1 1", " y r9 1\n" * (n // 8)),
    "comments.mps": lambda n: "* x: written by fairlp, 1 rows, 1 columns\n" * (n // 40) + SMALL,
    "spaces.lp": lambda n: LP + "bounds\n x" + " " * n + "!\nend\n",
    "digits.lp": lambda n: LP + "bounds\n " + "1" * n + "!\nend\n",
    "signs.lp": lambda n: "min\n " + "- " * (n // 2) + "x\nend\n",
    "names.lp": lambda n: "min\n " + "x " * (n // 2) + "\nend\n",
    "labels.lp": lambda n: "min\n x\nst\n" + "c: " * (n // 3) + "\nend\n",
    "titles.lp": lambda n: "min\n x\n" + "bounds\n" * (n // 7) + "end\n",
    "comments.lp": lambda n: "\\" * n + "\n" + LP + "end\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_long_lines_and_many_lines_take_no_quadratic_time(name, tmp_path):
    path = tmp_path / name
    path.write_text(LARGE[name](1_000_000), encoding="utf-8")
    start = time.perf_counter()
    try:
        read_program(path)
    except FileFormatError as error:
        assert len(str(error)) < 1000
    assert time.perf_counter() - start < 10  # it takes tenths of a second; if quadratic, minutes


@pytest.mark.parametrize("ending", [".mps", ".lp"])
def test_tuples_and_apostrophes_have_names_that_people_can_read(ending, tmp_path):
    bundles = Index("a", [("a", "b"), "a_b", "carol's bundle", ("x", (1, 2))])
    model = Model("m")
    x = model.variable("x", bundles, upper=1)
    model.constraint("cap", 2 * x <= 1)
    model.maximize(x.sum())
    path, side_file = model.write(tmp_path / f"m{ending}")
    written_names = set(re.findall(r"\bcap\.\w+", path.read_text(encoding="ascii")))
    assert written_names == {"cap.a_b", "cap.a_b_2", "cap.carol_s_bundle", "cap.x_1_2"}
    assert json.loads(side_file.read_text(encoding="utf-8"))["rows"]["cap.a_b_2"]["block"] == "cap"
    assert read_program(path).row_names == model.compile().row_names
    highs = pytest.importorskip("highspy").Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    assert highs.getObjectiveValue() in (2.0, -2.0)
