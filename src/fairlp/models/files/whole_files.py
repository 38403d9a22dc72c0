"""Text files, always UTF-8: read with errors that say what to do, written so that they are on the disk."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import FileFormatError, nearest


def read_bytes(path: Path) -> bytes:
    """Return what is in a file; an error says that it is not there, or why it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FileFormatError(not_found(path)) from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from None


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file (a byte order mark is skipped); an error says where it is not UTF-8."""
    content = read_bytes(path)
    if not content.strip():
        raise FileFormatError(f"{path} is empty; was it written completely?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileFormatError(
            f"{path} is not UTF-8: byte {error.start} (line {line}) is 0x{content[error.start]:02x}; save it as UTF-8, "
            "or convert it (iconv -f LATIN1 -t UTF-8)"
        ) from None


def not_found(path: Path) -> str:
    """Return the message that there is no such file, with those of a similar name."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"no file {str(path)!r}: there is no folder {str(folder)!r} (the current folder is {Path.cwd()})"
    there = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
    hint = f"; {nearest(path.name, sorted(there))}" if there else ", which is empty"
    return f"no file {str(path)!r} in {folder}{hint}"


def save(path: Path, text: str) -> None:
    """Write text as UTF-8 and see it on the disk; a lone surrogate is an error."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        part = text[max(error.start - 20, 0) : error.end]
        raise FileFormatError(f"{part!r} cannot be written as UTF-8; rename the label or attribute") from None
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
