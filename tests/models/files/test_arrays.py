"""Files of arrays: nothing in them is believed."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairlp.errors import FileFormatError
from fairlp.models.files.arrays import read_arrays, write_arrays
from fairlp.models.files.whole_files import MOST_ARRAYS


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


def test_a_number_in_a_state_is_finite(tmp_path):
    write_arrays(tmp_path / "state.npz", {}, {"now": np.array(np.inf), "then": np.array(2.5)})
    kept = read_arrays(tmp_path / "state.npz", "state")
    assert kept.number("then") == 2.5
    with pytest.raises(FileFormatError, match="'now' is inf"):
        kept.number("now")


@pytest.mark.parametrize(("entries", "refused"), [(MOST_ARRAYS, False), (MOST_ARRAYS + 1, True)])
def test_a_state_has_no_more_arrays_than_it_can_hold(tmp_path, entries, refused):
    arrays = {f"a{k}": np.zeros(1) for k in range(entries - 1)}  # and the document
    write_arrays(path := tmp_path / "state.npz", {}, arrays)
    if refused:
        with pytest.raises(FileFormatError, match="its entries are more than it can hold"):
            read_arrays(path, "state")
    else:
        assert read_arrays(path, "state").floats("a0", 1) == 0


def test_entries_that_claim_to_be_larger_than_the_file_are_refused_before_they_are_read(tmp_path):
    with zipfile.ZipFile(path := tmp_path / "state.npz", "w") as packed:
        packed.writestr("now.npy", bytes(100_000), zipfile.ZIP_DEFLATED)
    with pytest.raises(FileFormatError, match="its entries are more than it can hold"):
        read_arrays(path, "state")


HEADERS = {
    "brackets": "(" * 3000,
    "lists": "[" * 150,
    "Python 2": "{'descr': '<f8', 'fortran_order': False, 'shape': (5L,), }",
    "cut off": "{'descr': 'O', 'fortran_order'",
    "too large": "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999999999,), }",
    "a sum": "1+" * 900 + "1",
    "zeros": "\x00" * 20,
    "a backslash": "\\",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_header_that_numpy_did_not_write_is_refused(header, version, tmp_path, recwarn):
    """NumPy's reader takes it for Python, and ends in errors of the tokenizer, and warnings."""
    write_arrays(tmp_path / "state.npz", {"a": 1}, {"now": np.arange(5.0)})
    content = HEADERS[header].encode("latin-1") + b" \n"
    length = len(content).to_bytes(2 if version == 1 else 4, "little")
    with zipfile.ZipFile(tmp_path / "state.npz") as packed:
        document = packed.read("document.npy")
    with zipfile.ZipFile(tmp_path / "state.npz", "w") as packed:
        packed.writestr("document.npy", document)
        packed.writestr("now.npy", b"\x93NUMPY" + bytes([version, 0]) + length + content + np.arange(5.0).tobytes())
    with pytest.raises(FileFormatError, match="holds no state"):
        read_arrays(tmp_path / "state.npz", "state")
    assert not recwarn.list


@settings(deadline=None)
@given(
    hnp.arrays(st.sampled_from([np.float64, np.int64, np.uint8, np.float32]), hnp.array_shapes(min_dims=0, min_side=0)),
    st.booleans(),
)
def test_any_array_of_numbers_comes_back(array, turned):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        stored = array.T if turned else array
        write_arrays(path, {}, {"now": stored})
        again = read_arrays(path, "state")._arrays["now"]
    assert (again.dtype, again.shape) == (stored.dtype, stored.shape)
    assert again.tobytes() == stored.tobytes()
