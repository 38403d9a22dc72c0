"""Files appear whole or not at all, through links, with their permissions, several together."""

from __future__ import annotations

import os

import pytest

import fairlp
from fairlp import examples
from fairlp.errors import FileFormatError
from fairlp.models.files.whole_files import draft_folder, drafts, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failure_leaves_the_old_files_and_no_draft(tmp_path):
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), drafts(path, other) as [first, second]:
        first.write_text("new")
        second.write_text("new")
        raise ZeroDivisionError
    assert names(tmp_path) == ["a.txt"] and path.read_text() == "old"


def test_a_file_that_was_not_written_leaves_all_others_alone(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), drafts(path, tmp_path / "b.txt") as [first, _]:
        first.write_text("new")
    assert names(tmp_path) == ["a.txt"] and path.read_text() == "old"


def test_links_stay_links_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_is_written_to_and_stays():
    write_text(os.devnull, "text")
    assert not os.path.isfile(os.devnull) and os.path.exists(os.devnull)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder to write to: .*nowhere"):
        write_text(tmp_path / "nowhere" / "a.txt", "text")


def test_text_that_is_no_unicode_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be written as UTF-8"):
        write_text(tmp_path / "a.txt", "label \ud800")
    assert names(tmp_path) == []


def test_a_folder_is_exchanged_whole(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    for name in ("a", "b", "notes"):
        (place / name).write_text("old")
    with pytest.raises(ZeroDivisionError), draft_folder(place, ["a", "b"]) as draft:
        (draft / "a").write_text("new")
        raise ZeroDivisionError
    assert {path.read_text() for path in place.iterdir()} == {"old"}
    with draft_folder(place, ["a", "b"]) as draft:
        (draft / "a").write_text("new")
    assert names(tmp_path) == ["place"] and names(place) == ["a", "notes"]
    assert (place / "a").read_text() == "new"


@pytest.mark.parametrize("method", ["to_json", "to_csv"])
def test_an_allocation_is_written_whole(tmp_path, method):
    path = tmp_path / "allocation.out"
    text = getattr(fairlp.allocate(examples.ghodsi(), "drf"), method)(path)
    assert path.read_text(encoding="utf-8").strip() == text.strip() and names(tmp_path) == [path.name]
