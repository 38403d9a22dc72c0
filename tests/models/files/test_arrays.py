"""Files of arrays: nothing in them is believed."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

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
