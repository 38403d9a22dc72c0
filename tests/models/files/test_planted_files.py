"""Files with planted oddities: signs of others, columns and tabs, numbers that are text, names that are numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fairlp
from fairlp import Instance
from fairlp.errors import FairlpWarning, FileFormatError, InstanceError, ModelError
from fairlp.models.files.csv_folder import inferred
from fairlp.models.files.frames import from_frames
from fairlp.models.files.instances import plain, short
from fairlp.models.files.model_text import check_writable, file_names
from fairlp.models.files.mps import _rows
from fairlp.models.files.programs import read_program
from fairlp.models.programs.program import Block, LogTerms
from small_programs import INF, program


def read(folder, text, name="model.mps"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_program(path)


MPS = """NAME model
{sense}ROWS
 N cost
 L most
COLUMNS
 x cost 1 most 1
RHS
 RHS most 4
ENDATA
"""


def test_a_section_says_more_than_a_comment(tmp_path):
    with pytest.warns(FairlpWarning, match="PuLP"):
        assert read(tmp_path, "*SENSE:Maximize\n" + MPS.format(sense="")).sense == "max"
    assert read(tmp_path, "*SENSE:Maximize\n" + MPS.format(sense="OBJSENSE\n MIN\n")).sense == "min"
    assert read(tmp_path, MPS.format(sense="OBJSENSE\n MAX\n")).sense == "max"


FIXED = """NAME          model
ROWS
 N  cost
 L  at most
COLUMNS
    x         cost               1.0   at most            1.0
RHS
    RHS       at most            4.0
ENDATA
"""


def test_fixed_format_is_columns_without_tabs(tmp_path):
    assert read(tmp_path, FIXED).row_upper.tolist() == [4]
    line = "    x         cost"
    for wrong in (
        line.replace("x         ", "x\ty       "),
        line.replace("    x", "   zx"),
        line.replace("x    ", "x   \t"),
    ):
        with pytest.raises(FileFormatError, match="line 6"):
            read(tmp_path, FIXED.replace(line, wrong))


def test_of_two_errors_the_later_one_is_told_where_the_file_is_right_for_longer(tmp_path):
    """As words, line 4 is wrong; as columns, line 8 has a number that is none."""
    with pytest.raises(FileFormatError, match="line 8"):
        read(tmp_path, FIXED.replace("4.0", "4.x"))


def test_sections_have_an_order_and_rows_have_names_of_their_own(tmp_path):
    text = MPS.format(sense="")
    moved = text.replace("RHS\n RHS most 4\n", "").replace("COLUMNS", "RHS\n RHS most 4\nCOLUMNS")
    late = text.replace("NAME model\n", "").replace("COLUMNS", "NAME model\nCOLUMNS")
    for wrong, words in (
        (moved, "COLUMNS"),
        (late, "NAME stands after ROWS"),
        (text.replace(" L most\n", " L most\n G most\n"), "most"),
    ):
        with pytest.raises(FileFormatError, match=words):
            read(tmp_path, wrong)


LP = """{head}Minimize
 obj: {cost}
Subject To
 row: {row}
Bounds
{bounds}
End
"""


def lp(folder, head="", cost="x", row="x + y <= 4", bounds=" x <= 9"):
    return read(folder, LP.format(head=head, cost=cost, row=row, bounds=bounds), "model.lp")


def test_a_variable_that_occurs_twice_counts_twice(tmp_path):
    found = lp(tmp_path, row="x + 2 x + y - y <= 4")
    assert found.A.toarray().tolist() == [[3, 0]] and found.A.nnz == 1 and found.A.has_canonical_format


GLPK = "\\* Problem: model *\\\n\\* constant term = 7 *\\\n"


def test_a_constant_that_is_given_is_the_constant(tmp_path):
    with pytest.warns(FairlpWarning, match="GLPK"):
        assert lp(tmp_path, GLPK).offset == 7
    assert lp(tmp_path, GLPK, cost="x + 5").offset == 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bounds": " x >= 1\n x >= 2"}, "lower bound was 1"),
        ({"bounds": " x <= 9\n x <= 8"}, "upper bound was 9"),
        ({"bounds": " x <= 9\nBinary\n x"}, "binary"),
        ({"bounds": " x >= 3\n x <= 2"}, "no value of"),
        ({"row": "1e308 x + 1e308 x <= 4"}, "more than the largest"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, changes, words):
    with pytest.raises(FileFormatError, match=words):
        lp(tmp_path, **changes)


@pytest.mark.parametrize("name", ["nan", "NaNny", "inf", "Infinity", "inform", "e5", "9", ".5", "free", "st"])
def test_names_that_readers_take_for_something_else_are_changed(name):
    names, changed = file_names([Block(name, (), 0, 1)])
    assert names == ["_" + name.replace(".", "_")] or not names[0].lower().startswith(name.lower())
    assert names[0] in changed


def test_a_range_is_given_from_the_side_that_gives_the_other_exactly_else_from_the_smaller():
    rng = np.random.default_rng(0)
    seen = {"exact from the upper": 0, "neither": 0, "lower": 0}
    for low, high in np.sort(rng.normal(0, 3, (3000, 2)) ** 3, axis=1).tolist():
        (kind,), sides, widths = _rows(program([[1.0]], [(low, high)], [(0, 1)]), rounded=False)
        assert sides[0] == (high if kind == "L" else low)
        from_lower, from_upper = low + widths[0] == high, high - widths[0] == low
        assert kind == ("G" if from_lower else "L" if from_upper or abs(high) < abs(low) else "G")
        seen["lower" if from_lower else "exact from the upper" if from_upper else "neither"] += 1
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("bounds", [(3, 2), (INF, INF), (-INF, -INF)])
def test_bounds_that_no_value_meets_are_not_written(bounds):
    ok = program([[1.0]], [(0, 1)], [(0, 1)])
    check_writable(ok, "MPS")
    for wrong in (program([[1.0]], [bounds], [(0, 1)]), program([[1.0]], [(0, 1)], [bounds])):
        with pytest.raises(ModelError, match="which no value meets"):
            check_writable(wrong, "MPS")
    logs = LogTerms("log", np.ones(1), sp.csr_array(np.ones((1, 1))), np.ones(1))
    with pytest.raises(ModelError, match="logarithm"):
        check_writable(ok.replace(logs=logs), "MPS")


def test_numbers_in_csv_are_numbers_only_if_they_are_written_as_such():
    assert inferred(["007", "8"]) == ["007", "8"] and inferred(["7", "-8", "0"]) == [7, -8, 0]
    assert inferred(["01.5", "2.5"]) == ["01.5", "2.5"] and inferred(["0.5", ".5", "1e3"]) == [0.5, 0.5, 1000]
    assert inferred(["true", "1"]) == ["true", "1"]


def test_large_whole_floats_stay_floats():
    assert short(9.0) == 9 and isinstance(short(9.0), int)
    for large in (2.0**53, 1e300, -(2.0**60)):
        assert isinstance(short(large), float) and short(large) == large


@pytest.mark.parametrize("wrong", [INF, -INF, 1j])
def test_attributes_that_files_cannot_hold_are_refused(wrong):
    assert plain(np.float64(1.5), "x") == 1.5 and plain(np.nan, "x") is None
    with pytest.raises(FileFormatError, match="finite"):
        plain(wrong, "x")


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [('"user1"', "true", "no label"), ('"server1"', "false", "no label"), (": 4}", ": true}", "finite number")],
)
def test_true_is_neither_a_label_nor_a_number(tmp_path, right, wrong, words):
    path = tmp_path / "instance.json"
    Instance.from_arrays([[1.0]], [[4.0]]).write(path)
    text = path.read_text(encoding="utf-8")
    assert right in text and fairlp.read(path).capacities.tolist() == [[4]]
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(FileFormatError, match=words):
        fairlp.read(path)


def test_a_file_of_a_folder_that_is_listed_is_there(tmp_path):
    instance = Instance.from_arrays([[1.0], [1.0]], [[4.0], [4.0]], eligible=np.array([[True, False], [True, True]]))
    folder = tmp_path / "folder"
    instance.write(folder)
    listed = sorted(path.name for path in folder.iterdir())
    assert "eligible.csv" in listed
    (folder / "eligible.csv").unlink()
    with pytest.raises(FileFormatError, match=r"has no eligible\.csv"):
        fairlp.read(folder)


def tables(**columns):
    users = pd.DataFrame({"cpu": [1.0, 1.0], **columns}, index=pd.Index(["a", "b"], name="user"))
    servers = pd.DataFrame({"cpu": [4.0]}, index=pd.Index(["s"], name="server"))
    return users, servers


@pytest.mark.parametrize("blank", ["", None, np.nan])
def test_a_blank_limit_is_none(blank):
    assert from_frames(
        *tables(task_limit=pd.Series([3, blank], dtype=object, index=["a", "b"]))
    ).task_limits.tolist() == [3, INF]


def test_weights_are_given_once_and_units_agree():
    with pytest.raises(InstanceError, match="one or the other"):
        from_frames(*tables(**{"weight": [1, 2], "weight:cpu": [1, 2]}))
    users, servers = tables()
    users, servers = users.rename(columns={"cpu": "cpu [cores]"}), servers.rename(columns={"cpu": "cpu [hours]"})
    with pytest.raises(InstanceError, match="cores"):
        from_frames(users, servers)
