"""MPS files are taken apart piece by piece: pieces of any size give the same program, and the same error."""

from __future__ import annotations

import io
import itertools
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from fairlp.errors import FileFormatError
from fairlp.models.files import mps_sections
from fairlp.models.files.model_text import numbers_in
from fairlp.models.files.mps import write_mps
from fairlp.models.files.programs import read_program
from program_files import EXAMPLE, programs, read_text

#: What is put in place of a word, or as a line: wrong words, numbers in other writing, markers,
#: comments.
WORDS = [
    "nan",
    "1_0",
    "1.5D2",
    "-0",
    "1e400",
    "'MARKER'",
    "'INTEND'",
    "nowhere",
    "$",
    "",
    "0x1",
    "objective",
]
LINES = [
    " M 'MARKER' 'INTORG'",
    " M 'MARKER' 'INTEND'",
    "* comment",
    "",
    " $ x",
    " a b c d",
    "RANGES",
    " UP BND nowhere 1",
]


def outcome(path, size, monkeypatch):
    """What a file says, or what is wrong with it, and the warnings; read in pieces of about ``size`` bytes."""
    monkeypatch.setattr(mps_sections.MpsSections.pieces, "__defaults__", (size,))
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            p = read_program(path)
        except FileFormatError as error:
            return str(error), [str(message.message) for message in messages]
    arrays = (
        p.c,
        p.A.data,
        p.A.indices,
        p.A.indptr,
        p.row_lower,
        p.row_upper,
        p.col_lower,
        p.col_upper,
        p.integrality,
    )
    texts = (p.name, p.sense, p.offset, p.row_names, p.column_names)
    return (
        [array.tobytes() for array in arrays],
        texts,
        [str(message.message) for message in messages],
    )


@st.composite
def changes(draw):
    """Places in a file, as fractions, with what happens there."""
    place = st.floats(0, 1, exclude_max=True)
    kind = st.sampled_from(["delete", "twice", "move", "word", "line", "join"])
    return draw(st.lists(st.tuples(kind, place, place, st.integers(0, 99)), max_size=3))


def changed(text, edits):
    lines = text.split("\n")
    for kind, edit, to, k in edits:
        i, j = int(edit * len(lines)), int(to * len(lines))
        fields = lines[i].split()
        if kind == "delete":
            del lines[i]
        elif kind == "twice":
            lines.insert(j, lines[i])
        elif kind == "move":
            lines.insert(j, lines.pop(i))
        elif kind == "line":
            lines.insert(i, LINES[k % len(LINES)])
        elif kind == "join" and len(fields) == 3 and i + 1 < len(lines):  # two rows in a line
            lines[i : i + 2] = [lines[i] + " " + " ".join(lines[i + 1].split()[1:])]
        elif kind == "word" and fields:
            fields[k % len(fields)] = WORDS[k % len(WORDS)]
            lines[i] = " " + " ".join(fields)
        lines = lines or [""]
    return "\n".join(lines)


@settings(deadline=None)
@given(
    p=programs(),
    profile=st.sampled_from(["portable", "full", "fixed"]),
    edits=changes(),
    size=st.integers(1, 90),
)
@example(p=EXAMPLE, profile="full", edits=[("join", 0.4, 0, 0), ("word", 0.6, 0, 2)], size=1)
def test_pieces_of_any_size_say_the_same(p, profile, edits, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "model.mps"
    write_mps(p, file := io.StringIO(), profile=profile)
    path.write_text(changed(file.getvalue(), edits), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        assert outcome(path, size, patch) == outcome(path, 2**30, patch)


@pytest.mark.parametrize("distinct", [3, 5000])
def test_numbers_that_repeat_and_that_do_not_are_correctly_rounded(distinct):
    rng = np.random.default_rng(distinct)
    values = rng.choice(rng.normal(size=distinct) * 10.0 ** rng.integers(-300, 300, distinct), 5000)
    texts = [repr(value).encode() for value in values.tolist()]
    assert np.array_equal(numbers_in(texts), values)
    texts[4321:4325] = [b"1_0", b"1.5D2", b"inf", b"x"]
    expected = [*values[:4321], np.nan, 150, np.inf, np.nan, *values[4325:]]
    np.testing.assert_array_equal(numbers_in(texts), expected)


def fixed(*rows):
    """A program in fixed format, with names that hold spaces, and lines of these columns."""
    lines = ["NAME", "ROWS", " N  the cost", " L  row  one", "COLUMNS", *rows, "RHS", "ENDATA", ""]
    return "\n".join(lines).encode()


#: In the six fields: names from the columns 5, 15 and 40, numbers in 25 to 36 and 50 to 61.
FULL = f"    {'x plus y'}  {'the cost'}  {'12.5':>12}   {'row  one'}  {'-1234.75':>12}"


def test_fields_of_fixed_format_fill_their_columns(tmp_path):
    (path := tmp_path / "m.mps").write_bytes(fixed(FULL))
    program = read_program(path)
    assert (program.row_names, program.column_names) == (["row  one"], ["x plus y"])
    assert program.c.tolist() == [12.5] and program.A.toarray().tolist() == [[-1234.75]]


def test_a_line_of_fixed_format_without_a_column_goes_on_with_the_last_one(tmp_path):
    """As GLPK's examples are written: the name stands on the first line of a column only."""
    first, second = (
        f"    {'x':<8}  {'the cost':<8}  {'12.5':>12}",
        f"{'':14}{'row  one':<8}  {'3':>12}",
    )
    (path := tmp_path / "m.mps").write_bytes(fixed(first, second, f"    {'y':<8}  {second[14:]}"))
    program = read_program(path)
    assert program.column_names == ["x", "y"] and program.c.tolist() == [12.5, 0]
    assert program.A.toarray().tolist() == [[3, 3]]


HEAD = "NAME small\nOBJSENSE\n MAX\nROWS\n N cost\n L room\nCOLUMNS\n x cost 1 room 1\n b cost 1 room 1\n"
TAILS = {
    "RHS": "RHS\n RHS room 8\n",
    "RANGES": "RANGES\n RNG room 3\n",
    "BOUNDS": "BOUNDS\n UP BND x 4\n UP BND b 1\n",
    "SOS": "SOS\n S1 s\n x 1\n b 2\n",
}


@pytest.mark.parametrize("order", list(itertools.permutations(TAILS)), ids="-".join)
def test_sections_after_the_columns_come_in_any_order(order, tmp_path):
    text = HEAD + "".join(TAILS[name] for name in order) + "ENDATA\n"
    program = read_text(tmp_path, text)
    assert (program.row_lower[0], program.row_upper[0]) == (5, 8)
    assert program.col_upper[:2].tolist() == [4, 1] and program.sense == "max"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD.replace("ROWS\n N cost\n L room\n", ""), "COLUMNS"),
        (HEAD + TAILS["RHS"] + "ROWS\n L more\nENDATA\n", "line 12: .*ROWS"),
        (HEAD + TAILS["BOUNDS"] + "COLUMNS\n z cost 1\nENDATA\n", "line 13: .*COLUMNS"),
        (HEAD + "ENDATA\n" + TAILS["RHS"], "RHS"),
    ],
)
def test_sections_that_others_build_on_come_first(text, words, tmp_path):
    with pytest.raises(FileFormatError, match=words):
        read_text(tmp_path, text)
