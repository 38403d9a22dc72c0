"""Model files that somebody edited, cut or packed: what is read of them, and what is refused."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from fairlp import Index, Model
from fairlp.errors import FileFormatError
from fairlp.models.files.arrays import read_arrays, write_arrays
from fairlp.models.files.programs import read_program

USERS, SERVERS = Index("n", ["ann", "bob"], "user"), Index("i", ["s", "t"], "server")


def written(folder, ending):
    """A model with ranges and two blocks of columns, written to a file."""
    made = Model("m", indices=(USERS, SERVERS))
    x, y = made.variable("x", USERS, SERVERS, upper=3), made.variable("y", USERS)
    made.constraint("most", (x.sum(SERVERS) + y).between(1, 4))
    made.maximize(x.sum() + 2 * y.sum())
    made.write(path := folder / f"m{ending}")
    return path


def edited(path, old, new):
    text = path.read_text(encoding="ascii")
    assert old in text
    path.write_text(text.replace(old, new), encoding="ascii")
    return read_program(path)


def test_two_rows_of_a_range_that_were_made_different_stay_two(tmp_path):
    path = written(tmp_path, ".lp")
    assert read_program(path).n_rows == 2
    found = edited(path, "most.ann.upper: x.ann.s +", "most.ann.upper: 2 x.ann.s +")
    assert found.n_rows == 3  # that of bob is one still
    assert found.row_lower.tolist() == [1, -np.inf, 1] and found.row_upper.tolist() == [np.inf, 4, 4]
    assert found.A.toarray()[:2, 0].tolist() == [1, 2]


def test_columns_in_another_order_come_back_to_their_blocks(tmp_path):
    path = written(tmp_path, ".lp")
    wanted = read_program(path)
    found = edited(
        path, "x.ann.s + x.ann.t + x.bob.s + x.bob.t + 2 y.ann +", "x.ann.s + 2 y.ann + x.ann.t + x.bob.s + x.bob.t +"
    )
    assert [block.name for block in found.columns] == ["x", "y"]
    assert found.column_names == wanted.column_names
    assert found.c.tolist() == wanted.c.tolist() and (found.A != wanted.A).nnz == 0


def explained(path, names):
    """The program, with a side file that explains its columns."""
    entries = {
        name: {"block": "x", "labels": labels, "name": f"x[{','.join(labels)}]"} for name, labels in names.items()
    }
    path.with_name(path.name + ".names.json").write_text(json.dumps({"rows": {}, "columns": entries}), encoding="utf-8")
    return read_program(path)


def test_labels_that_are_not_unique_are_whole_names(tmp_path):
    names = ("x.ann.s", "x.ann.t", "x.bob.s", "x.bob.t")
    found = explained(written(tmp_path, ".mps"), {name: ["ann", "s"] for name in names})
    assert len(found.columns) == 1
    assert found.column_names[:4] == ["x[ann,s]"] * 4


def test_more_combinations_of_labels_than_integers_count_are_whole_names(tmp_path):
    labels = {"x.ann.s": ["0"] * 70, "x.ann.t": ["1"] * 70, "x.bob.s": ["2"] * 70, "x.bob.t": ["3"] * 70}
    found = explained(written(tmp_path, ".mps"), labels)
    assert len(found.columns) == 1
    assert found.column_names[0] == f"x[{','.join('0' * 70)}]"


def test_a_side_file_that_cannot_be_read_is_named(tmp_path):
    path = written(tmp_path, ".mps")
    (tmp_path / "m.mps.names.json").mkdir()
    with pytest.raises(FileFormatError, match=r"m\.mps\.names\.json"):
        read_program(path)


def test_an_exact_bound_of_a_row_whose_range_was_removed_is_not_used(tmp_path):
    path = written(tmp_path, ".mps")
    found = edited(path, " RNG most.ann 3\n", "* most.ann: the other bound is exactly 7\n")
    assert found.row_upper.tolist() == [np.inf, 4]


def test_a_file_of_comments_only_was_cut_off(tmp_path):
    path = tmp_path / "m.mps"
    path.write_text("* m: written by fairlp, 2 rows, 6 columns\n\n", encoding="ascii")
    with pytest.raises(FileFormatError, match="ends without any section of MPS; it was cut off"):
        read_program(path)


def test_a_state_that_somebody_packed_tighter_is_refused(tmp_path):
    write_arrays(path := tmp_path / "state.npz", {}, {"now": np.arange(3.0)})
    with zipfile.ZipFile(path) as packed:
        entries = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in entries.items():
            kind = zipfile.ZIP_DEFLATED if name.startswith("now") else zipfile.ZIP_STORED
            packed.writestr(name, content, kind, 0)
    with pytest.raises(FileFormatError, match="its entries are compressed"):
        read_arrays(path, "state")
