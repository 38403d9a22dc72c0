"""Broken model files: an error that names file, line and text, quickly; never a crash, never a wrong program."""

from __future__ import annotations

import gzip
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mps import CASES

from fairlp.errors import FileFormatError
from fairlp.models.files.lp import write_lp
from fairlp.models.files.mps import write_mps
from fairlp.models.files.programs import read_program
from profiles import many

GOOD = """\
NAME t{free}
ROWS
 N obj
 L r1
 G r2
COLUMNS
 x obj 1 r1 2
 x r2 -3
 y r1 1
RHS
 RHS r1 10 r2 -20
RANGES
 RNG r2 5
BOUNDS
 UP BND x 4
ENDATA
"""

#: what to replace, by what, and what the error says
BROKEN = [
    ("ENDATA\n", "", "line 15: 'UP BND x 4': the file ends without ENDATA; it was cut off"),
    ("ENDATA\n", "ENDATA\nmore\nROWS\n", "line 18: 'ROWS': a second section ROWS"),
    ("ENDATA\n", "ENDATA\nQUADOBJ\n x x 1\n", "line 17: 'QUADOBJ': section QUADOBJ says"),
    ("BOUNDS\n", "IMPORTANCES\n", "line 14: 'IMPORTANCES': unknown section"),
    (" y r1 1\n", " y r1 1D\n", "expected a finite number instead of '1D'"),
    (" y r1 1\n", " y r1 D1\n", "expected a finite number instead of 'D1'"),
    (" y r1 1\n", " y r1 1D999\n", "expected a finite number instead of '1D999'"),
    ("UP BND x 4", "UP BND x 4D999", "expected a number as bound instead of '4D999'"),
    ("ENDATA\n", "ENDATA\n more\n", "line 17: 'more': unexpected after ENDATA"),
    ("NAME", " NAME", "line 1: 'NAME t.*': expected a section of MPS, such as NAME or ROWS"),
    ("NAME t", "NAME t\n data", "line 2: 'data.*': unexpected after NAME"),
    ("ROWS\n", "ROWZ\n", "line 2: 'ROWZ': unknown section; did you mean 'ROWS'"),
    ("ROWS\n", "ROWS now\n", "line 2: 'ROWS now': expected ROWS alone on its line"),
    ("ROWS\n", "OBJSENSE\n UP\nROWS\n", "line 3: 'UP': expected one word, MAX or MIN, in OBJSENSE"),
    ("ROWS\n", "OBJSENSE MAX\n MIN\nROWS\n", "expected one word, MAX or MIN"),
    ("ROWS\n", "OBJNAME\n r1\nROWS\n", "line 2: 'OBJNAME': no row of type N is called 'r1'"),
    ("ROWS\n", "OBJNAME a\n b\nROWS\n", "line 3: 'b': unexpected after OBJNAME"),
    ("COLUMNS\n", "RHS\nCOLUMNS\n", "line 6: 'RHS': section RHS without a section COLUMNS before it"),
    ("ROWS\n N obj\n L r1\n G r2\n", "", "line 2: 'COLUMNS': section COLUMNS without a section ROWS"),
    ("RANGES\n", "ROWS\n", "line 12: 'ROWS': a second section ROWS; the first is in line 2"),
    ("RANGES\n", "OBJSENSE\n", "line 12: 'OBJSENSE': section OBJSENSE stands after RHS; expected it before"),
    ("BOUNDS\n", "SOS\n", "line 14: 'SOS': section SOS says what no linear or mixed-integer program can"),
    ("BOUNDS\n", "QUADOBJ\n", "section QUADOBJ says"),
    (" N obj\n", " N\n", "line 3: 'N': expected type and name of a row; found 1 words"),
    (" N obj\n", " Q obj\n", "line 3: 'Q obj': expected a row of type N, L, G or E"),
    (" G r2\n", " G r1\n", "line 5: 'G r1': a second row 'r1'; the first is in line 4"),
    (" y r1 1\n", " y r3 1\n", "line 9: 'y r3 1': no row is called 'r3'; known: 'obj', 'r1', 'r2'"),
    (" y r1 1\n", " y r1 1 obj\n", "line 9: .*expected column, row and number, or .*; found 4 words"),
    (" y r1 1\n", " y r1 one\n", "line 9: 'y r1 one': expected a finite number instead of 'one'"),
    (" y r1 1\n", " y r1 nan\n", "expected a finite number instead of 'nan'"),
    (" y r1 1\n", " y r1 -inf\n", "expected a finite number instead of '-inf'"),
    (" y r1 1\n", " y r1 1e999\n", "expected a finite number instead of '1e999'"),
    (" y r1 1\n", " y r1 1_0\n", "expected a finite number instead of '1_0'"),
    (" y r1 1\n", " y r1 ١\n", "expected a finite number instead of '١'"),
    (" y r1 1\n", " y r1 1\n x obj 2\n", "line 10: 'x obj 2': column 'x' has entries before; expected all of"),
    (" y r1 1\n", " y r1 1\n y r1 2\n", "line 10: 'y r1 2': a second number for row 'r1'"),
    (" x r2 -3\n", " M 'MARKER' 'INTORG'\n x r2 -3\n M 'MARKER' 'INTEND'\n", "line 9: .* before and after a marker"),
    (" y r1 1\n", " M 'MARKER' 'INTORG'\n y r1 1\n", "line 9: .*no marker 'INTEND' follows"),
    (" y r1 1\n", " M 'MARKER' 'INTEND'\n y r1 1\n", "line 9: .*expected the marker 'INTORG'"),
    (" y r1 1\n", " M 'MARKER' 'SOSORG'\n y r1 1\n", "line 9: .*expected the marker 'INTORG'"),
    (" RHS r1 10 r2 -20\n", " RHS r1 10\n RHS2 r2 -20\n", "line 12: .*a second vector, 'RHS2' after 'RHS'"),
    (" RHS r1 10 r2 -20\n", " RHS r1 10 r1 -20\n", "line 11: .*a second number for row 'r1'"),
    (" RHS r1 10 r2 -20\n", " RHS r1 1e30 r2 1e31\n", "line 13: .*no value of row 'r2' is between .*bound inf"),
    (" RNG r2 5\n", " RNG obj 5\n", "line 13: 'RNG obj 5': a row of type N has no range"),
    (" RNG r2 5\n", " RNG\n", "line 13: 'RNG': expected the section's vector, row and number"),
    (" UP BND x 4\n", " UP BND z 4\n", "line 15: 'UP BND z 4': no column is called 'z'; known: 'x', 'y'"),
    (" UP BND x 4\n", " UP BND x\n", "line 15: 'UP BND x': no column is called 'BND'"),
    (" UP BND x 4\n", " UP BND x four\n", "line 15: .*expected a number as bound instead of 'four'"),
    (" UP BND x 4\n", " UP BND x 1e999\n", "expected a number as bound instead of '1e999'"),
    (" UP BND x 4\n", " UP BND x nan\n", "expected a number as bound instead of 'nan'"),
    (" UP BND x 4\n", " UP BND x 4\n UP BND x 5\n", "line 16: .*the upper bound of 'x' was given in line 15"),
    (" UP BND x 4\n", " FX BND x 4\n UP BND x 4\n", "line 16: .*the upper bound of 'x' was given in line 15"),
    (" UP BND x 4\n", " MI BND x\n LO BND x 1\n", "line 16: .*the lower bound of 'x' was given in line 15"),
    (" UP BND x 4\n", " UP BND x 4\n LO BND x 5\n", "line 16: .*no value of column 'x' is between its lower"),
    (" UP BND x 4\n", " FX BND x inf\n", "line 15: .*no value of column 'x'"),
    (" UP BND x 4\n", " SC BND x 4\n", "line 15: 'SC BND x 4': semi-continuous columns"),
    (" UP BND x 4\n", " XX BND x 4\n", "line 15: .*expected UP, LO, FX, FR, MI, PL, BV, LI or UI"),
    (" UP BND x 4\n", " UP BND x 4\n UP BOUND y 4\n", "line 16: .*a second vector, 'BOUND' after 'BND'"),
    (" UP BND x 4\n", " UP x 4 " + "z" * 300 + " 1\n", "line 15: 'UP x 4 z{73}…': expected UP"),
]  # fmt: skip


@pytest.mark.parametrize("free", ["", " FREE"])
@pytest.mark.parametrize("old, new, match", BROKEN)
def test_broken_mps(old, new, match, free, tmp_path):
    text = GOOD.format(free=free)
    assert old in text
    (path := tmp_path / "model.mps").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FileFormatError, match=match) as caught:
        read_program(path)
    assert str(caught.value).startswith(f"{path}, line ")


def test_the_unbroken_file_is_read(tmp_path):
    for free in ("", " FREE"):
        (path := tmp_path / "model.mps").write_text(GOOD.format(free=free), encoding="utf-8")
        assert read_program(path).A.toarray().tolist() == [[2, 1], [-3, 0]]


@pytest.mark.parametrize(
    "old, new, match",
    [
        (" lim 1 ", " lim 3 ", "line 6: .*no row is called 'lim 3'"),
        ("    12\n", "12 000\n", "line 6: .*expected a finite number instead of '12 000'"),
        (
            "    x one",
            "   x one ",
            r"line 4: .*found 3 words \(nor is it fixed format: line 6 has text outside the col",
        ),
        ("    x one", "\tx one   ", r"line 4: .*found 3 words \(nor is it fixed format: line 6"),
    ],
)
def test_broken_fixed_columns(old, new, match, tmp_path):
    text = "NAME          t\nROWS\n N  cost\n L  lim 1\nCOLUMNS\n    x one     lim 1               12\nENDATA\n"
    (path := tmp_path / "model.mps").write_text(text, encoding="utf-8")
    assert read_program(path).column_names == ["x one"]
    head, entries = text.split("COLUMNS\n")
    assert old in entries
    path.write_text(head + "COLUMNS\n" + entries.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FileFormatError, match=match):
        read_program(path)


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize(
    "content, match",
    [
        (b"", "is empty; was it written completely?"),
        (b" \n\r\n\t", "is empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "line 1: .*byte 0x7f is no text; expected an MPS or LP file in UTF-8"),
        (b"* a\nNAME \x00", "line 2: .*byte 0x00 is no text"),
        ("* a\n* Käse\n".encode("latin-1"), "line 2: .*byte 0xe4 is not UTF-8; save it as UTF-8, or convert it"),
        ("NAME t\n".encode("utf-16"), "byte 0x00 is no text"),
        (gzip.compress(b"NAME t\n", mtime=0), "is compressed; name it model.*gz"),
        (bytes(range(256)) * 40, "is no text"),
    ],
)
def test_what_is_no_text(content, match, suffix, tmp_path):
    (path := tmp_path / f"model{suffix}").write_bytes(content)
    with pytest.raises(FileFormatError, match=match):
        read_program(path)


@pytest.mark.parametrize("suffix", [".mps.gz", ".lp.gz"])
def test_broken_gzip(suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    whole = gzip.compress(GOOD.format(free="").encode() * 20)
    flipped = bytearray(whole)
    flipped[40] ^= 0xFF
    for content in (b"NAME t\n", whole[:-9], whole[:12], bytes(flipped), whole + b"junk", b"\x1f\x8b"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="is not a whole gzip file"):
            read_program(path)
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match="is empty"):
        read_program(path)
    path.write_bytes(gzip.compress(b"", mtime=0))
    with pytest.raises(FileFormatError, match="is empty"):
        read_program(path)


def test_paths(tmp_path):
    (tmp_path / "model.mps").write_text(GOOD.format(free=""), encoding="utf-8")
    (tmp_path / "folder.mps").mkdir()
    for name, match in (
        ("modell.mps", "no file '.*modell.mps'.*did you mean 'model.mps'"),
        ("no/model.mps", "there is no folder"),
        ("folder.mps", "cannot be read"),
        ("model.txt", r"cannot tell the format of 'model.txt'; expected .mps, .lp, .mps.gz or .lp.gz"),
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


@pytest.mark.parametrize("name", LARGE)
def test_long_lines_and_many_lines_take_no_quadratic_time(name, tmp_path):
    path = tmp_path / name
    path.write_text(LARGE[name](1_000_000), encoding="utf-8")
    begin = time.perf_counter()
    try:
        read_program(path)
    except FileFormatError as error:
        assert len(str(error)) < 1000
    assert time.perf_counter() - begin < 10  # it takes tenths of a second; if quadratic, minutes


def valid_files():
    """Texts of valid files of both formats, by suffix."""
    import io

    texts = {".mps": [SMALL, GOOD.format(free=" FREE")], ".lp": [LP + "bounds\n 0 <= x <= 4\ngeneral\n x\nend\n"]}
    for case in ("ranges", "integers", "keywords", "negative bounds", "names"):
        for profile in ("portable", "full", "fixed"):
            write_mps(CASES[case], file := io.StringIO(), profile=profile)
            texts[".mps"].append(file.getvalue())
        for constant in ("column", "term"):
            write_lp(CASES[case], file := io.StringIO(), constant=constant)
            texts[".lp"].append(file.getvalue())
    return texts


VALID = valid_files()
WORDS = """
    1e999 nan inf - + <= >= = : [ ] ^ RHS ENDATA End BOUNDS Bounds RANGES MAX * \\ $ 'MARKER' 'INTORG' 'INTEND' UP FR BV
    0 1e308 é free x N OBJSENSE OBJNAME NAME . e5 1_0 ١
"""
PIECES = [
    *WORDS.split(),
    " ",
    "\n",
    "\n ",
    "\x00",
    "\r",
    "\t",
    "\u00a0",
    "\u2028",
    "general\n",
    "bin\n",
    "st\n",
    "max\n",
]


def check(path):
    """A file is refused, or read as a program that can be one."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            p = read_program(path)
        except FileFormatError:
            return
        finally:
            assert time.perf_counter() - begin < 10
    assert np.isfinite([p.offset, *p.c, *p.A.data]).all()
    assert (p.row_lower <= p.row_upper).all() and (p.col_lower <= p.col_upper).all()
    assert p.A.shape == (len(p.row_names), len(p.column_names))
    assert p.A.has_canonical_format and (p.A.data != 0).all()


@settings(deadline=None, max_examples=many(200))
@given(data=st.data(), suffix=st.sampled_from([".mps", ".lp"]))
def test_mutations_of_valid_files(data, suffix, tmp_path_factory):
    text = data.draw(st.sampled_from(VALID[suffix]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.sampled_from([0, 0, 1, 2, 10, 100])))
        how = data.draw(st.sampled_from(["piece", "piece", "twice", "cut", "move"]))
        if how == "piece":
            text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[stop:]
        elif how == "twice":
            text = text[:stop] + text[start:]
        elif how == "cut":
            text = text[:start]
        else:
            lines = text.split("\n")
            lines.insert(data.draw(st.integers(0, len(lines))), lines.pop(data.draw(st.integers(0, len(lines) - 1))))
            text = "\n".join(lines)
    path = tmp_path_factory.mktemp("mutated") / f"model{suffix}"
    path.write_bytes(text.encode())
    check(path)


@settings(deadline=None)
@given(
    content=st.binary(max_size=2000), suffix=st.sampled_from([".mps", ".lp", ".mps.gz", ".lp.gz"]), packed=st.booleans()
)
def test_random_bytes(content, suffix, packed, tmp_path_factory):
    path = tmp_path_factory.mktemp("random") / f"model{suffix}"
    path.write_bytes(gzip.compress(content) if packed else content)
    check(path)
