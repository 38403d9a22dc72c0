"""LP files read in bulk: as word by word, bit for bit, and all that usual writers write."""

from __future__ import annotations

import warnings
from pathlib import Path

import highspy
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from fairlp.errors import FairlpWarning, FileFormatError
from fairlp.models.files import lp, lp_bulk
from fairlp.models.files.lp import parse_lp, write_lp
from fairlp.models.files.model_text import Source
from program_files import programs


def outcome(text, shortest, piece):
    """Everything that a text says, to the bit, or the error."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        patch.setattr(lp_bulk, "SHORTEST", shortest)
        patch.setattr(lp_bulk, "PIECE", piece)
        patch.setattr(lp, "PIECE", piece)
        warnings.simplefilter("always", FairlpWarning)
        try:
            parsed = parse_lp(Source(Path("x.lp"), text.encode()))
        except FileFormatError as error:
            return str(error)
    values = {**vars(parsed), "A": None, "warnings": [str(warning.message) for warning in caught]}
    for name in ("data", "indices", "indptr", "shape"):
        values[f"A.{name}"] = getattr(parsed.A, name)
    return {
        name: (value.dtype, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def assert_same_outcome_in_pieces(text, piece=2**17):
    assert outcome(text, 0, piece) == outcome(text, len(text) + 1, piece)


PIECES = st.sampled_from([1, 20, 200, 2**17])


@settings(deadline=None)
@given(p=programs(), constant=st.sampled_from(["term", "column"]), piece=PIECES)
def test_any_program_by_fairlp_and_by_highs(p, constant, piece, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bulk")
    write_lp(p, folder / "fairlp.lp", constant=constant)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(folder / "fairlp.lp"))
    highs.writeModel(str(folder / "highs.lp"))
    for path in folder.glob("*.lp"):
        assert_same_outcome_in_pieces(path.read_text(encoding="utf-8"), piece)


@st.composite
def lp_texts(draw):
    """LP files in which most words stand apart, with one odd thing now and then."""

    def usual(*texts):
        return st.sampled_from(texts)

    def rare(strategy, *rarities):
        return strategy if draw(st.integers(0, 30)) else usual(*rarities)

    def name():
        return draw(rare(usual("x", "y", "z"), "inf", "nan", "st", "e5", "é", "a[1]", "2x", "free"))

    def number():
        return draw(
            rare(
                usual("1", "-2", "+3", "0.5", ".5", "5.", "1e-3", "-0", "2E+2"),
                "inf", "-inf", "1e999", "1_0", "1d5", "1.2.3", "1e", "+ -2", "- 4", "-x",
            )
        )  # fmt: skip

    def relation():
        return draw(rare(usual("<=", ">=", "=", "<", ">", "=<", "=>"), "==", "<>", ": <="))

    def gap():
        return draw(rare(usual(" ", " ", " ", "\n ", "\t"), "", "\n\n", " \\ c\n"))

    def term(k):
        sign = draw(rare(usual("+ ", "- ") if k else usual("", "- "), "", "+", "+ + "))
        coefficient = number() + gap() if draw(st.booleans()) else ""
        return ("" if coefficient[:1] in ("+", "-") else sign) + coefficient + name()

    def terms():
        return gap().join(term(k) for k in range(draw(st.integers(1, 3))))

    def row(i):
        label = draw(
            rare(usual(f"r{i}: ", f"r{i}:\n", ""), "r0: ", f"r{i} : ", "1 <= ", "x = 1 -> ")
        )
        rest = draw(rare(usual(""), " + 3", " ]", " x", " ^ 2"))
        return f" {label}{terms()}{rest}{gap()}{relation()}{gap()}{number()}" + draw(
            rare(usual("\n"), " ", "\n\n")
        )

    def bound():
        forms = (
            f"{name()} {relation()} {number()}",
            f"{number()}{gap()}{relation()} {name()}",
            f"-1 <= {name()} <= 7",
            f"-inf <= {name()} <= +infinity",
            f"{name()} Free",
        )
        return f" {draw(st.sampled_from(forms))}\n"

    def several(line):
        return "".join(line(k) for k in range(draw(st.integers(0, 4))))

    integer = "".join(f" {name()}{gap()}" for _ in range(draw(st.integers(0, 3))))
    return (
        f"{draw(usual('min', 'Maximize'))}\n{draw(usual('', 'obj: '))}{terms()}"
        f"{draw(rare(usual(''), ' + 5'))}\nst\n{several(row)}bounds\n{several(lambda _: bound())}"
        f"{draw(usual('int', 'bin', 'semi'))}\n{integer}\nend\n"
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(text=lp_texts(), piece=PIECES)
@example("min\n x\nst\n a: x >= 1 y\n + z >= 2\nend\n", 2**17)
@example("min\n x\nst\n x >= 1 +\n x >= 2\nend\n", 2**17)
@example("min\n x\nst\n a: x >= 1\n b: x >= 2\n a: x >= 3\nend\n", 1)
@example("min\n x\nbounds\n x <= 4\n x free\n x <= 5\nend\n", 1)
@example("min\n inf\nst\n x >= 1\nend\n", 2**17)
@example("min\n x\nst\n x >= 1\nbounds\n inf <= x <= 5\nend\n", 2**17)
@example("min\n x + bin\nst\n x >= 1\nint\n x bin\nend\n", 2**17)
def test_usual_and_unusual_texts(text, piece):
    assert_same_outcome_in_pieces(text, piece)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(
    text=lp_texts(),
    place=st.floats(0, 1, exclude_max=True),
    length=st.integers(0, 3),
    rest=st.text(alphabet="x1+-<=:. \n\\[^é\t", max_size=3),
)
def test_mutated_texts(text, place, length, rest):
    start = int(place * len(text))
    assert_same_outcome_in_pieces(text[:start] + rest + text[start + length :])


#: rows as their writers have them: fairlp, HiGHS, Pyomo, PuLP and CPLEX, OR-tools
ROWS = (
    " cap.cpu: 3 x + y - 0.5 z <= 4\n  + 2 x >= -1\n share: x = 0\n",
    " con: +1 x -2.5 y +0.1 z <= 9\n eq:  +1 x = 3\n",
    "\nc_u_x3_:\n+1.0 x4\n-3.0 x5\n<= 9.0\n\nc_e_x6_:\n+4.0 x4\n= 0\n",
    "_C1: - x_1 + 2 x_2 >= 1\n_C2: x_1 <= 12.0\n",
    " 0: +2 x1 +3 x2  <= 4\n".replace("0:", "c0:"),
)


@pytest.mark.parametrize("text", ROWS)
def test_rows_of_usual_writers_are_read_in_bulk(text, monkeypatch):
    monkeypatch.setattr(lp_bulk, "SHORTEST", 0)
    rows = lp_bulk.rows_in(text)
    assert len(rows.names) == len(rows.lower) == sum(map(text.count, ("<=", ">=", " = ", "\n= ")))
    assert len(rows.variables) == len(rows.values) == len(rows.of)


@pytest.mark.parametrize(
    "text",
    [" 0 <= x <= 4\n x free\n y >= -3\n", "   0.0 <= x4 <= +inf\n  -inf <= x5 <= 1\n x = 2\n"],
)
def test_bounds_of_usual_writers_are_read_in_bulk(text, monkeypatch):
    monkeypatch.setattr(lp_bulk, "SHORTEST", 0)
    bounds = lp_bulk.bounds_in(text)
    assert [bounds.is_lower.sum(), bounds.is_upper.sum()] == [3, 3 - text.count("y")]
    assert bounds.lines.tolist() == sorted(bounds.lines.tolist())


UNUSUAL = (
    "c: [ x ^ 2 ] <= 4\n",
    "c: x * y <= 4\n",
    "b = 1 -> x <= 4\n",
    "c: 1 <= x <= 4\n",
    "c: x <= inf\n",
    "c: x + 3 <= 4\n",
    "c : x <= 4\n",
    "c: 2x <= 4\n",
    "c: x<=4\n",
    "c: é <= 4\n",
    "c: x <= 1e999\n",
    "c: x <= 1_0\n",
    "c: x <= 4 y >= 3\n",
    "c: x y <= 4\n",
    "c: x +\n",
    "\n\n",
)


@pytest.mark.parametrize("text", UNUSUAL)
def test_other_rows_are_left_to_the_reader_of_words(text, monkeypatch):
    monkeypatch.setattr(lp_bulk, "SHORTEST", 0)
    assert lp_bulk.rows_in(text) is None


def test_short_texts_are_read_word_by_word():
    row = " c: x <= 4\n"
    assert lp_bulk.words_in(row) is None
    assert len(lp_bulk.words_in(row * 1000).texts) == 4000
