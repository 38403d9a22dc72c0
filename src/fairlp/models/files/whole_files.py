"""Files read and written as a whole, in UTF-8, with errors that give a remedy.

Every file that fairlp writes goes through `drafts`: it is written beside its place, seen on the
disk, and only then moved there. A failure leaves what was there before. A writer that is killed
leaves a hidden draft.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

from ...errors import FileFormatError, nearest

__all__ = [
    "DOCUMENT_SUFFIXES",
    "YAML_SUFFIXES",
    "drafts",
    "home",
    "not_found",
    "opened",
    "read_text",
    "require_folder",
    "write_text",
]

#: Suffixes of documents that hold an instance or a study, in one file.
YAML_SUFFIXES: Final = (".yaml", ".yml")
DOCUMENT_SUFFIXES: Final = (".json", *YAML_SUFFIXES)
AnyPath = str | os.PathLike[str]
Target = AnyPath | IO[str] | IO[bytes]

#: Bytes of one file, also of what a compressed one holds.
MOST_BYTES: Final = 2**30
#: Lists and mappings within one another in a document, of JSON or YAML; those of fairlp have at
#: most six.
MOST_DEPTH: Final = 50
TOO_DEEP: Final = (
    f"lists or mappings are nested too deeply; expected at most {MOST_DEPTH} within one another"
)
#: Values that the aliases of a YAML file may stand for, all together: what is written twice, not
#: doubled thirty times.
MOST_REPEATED: Final = 1_000_000
#: What may be read and written though it is no regular file: the streams that this process was
#: given.
_GIVEN = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
#: How many times its size a gzip file may hold, when that is much: models are packed to a twentieth
#: or so, blanks to a thousandth, and a small file must not keep a reader busy for long.
MOST_GROWTH: Final = 200
_MUCH: Final = 2**24


def depth(document: Any) -> int:
    """Return how many lists and mappings are within one another.

    >>> depth(3), depth([{"a": []}])
    (0, 3)
    """
    if not isinstance(document, dict | list):
        return 0
    parts = document.values() if isinstance(document, dict) else document
    return 1 + max(map(depth, parts), default=0)


def home(path: AnyPath) -> Path:
    """Return a path with ``~`` as the folder of its user; one of no user stays as it is.

    >>> home("a/~") == Path("a/~"), home("~nobody-has-this-name/a") == Path("~nobody-has-this-name/a")
    (True, True)
    """
    return Path(os.path.expanduser(path))


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Give a regular file to read from; a pipe, which could keep us waiting for ever, is refused.

    The streams that this process was given (``/dev/stdin``, ``/dev/fd/63`` of a shell's ``<(…)``)
    are read too.
    """
    is_stream = _is_stream(path)
    # without O_NONBLOCK, opening a pipe waits for who writes to it; on a regular file it changes
    # nothing
    flags = (
        os.O_RDONLY
        | getattr(os, "O_BINARY", 0)
        | (0 if is_stream else getattr(os, "O_NONBLOCK", 0))
    )
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise FileFormatError(not_found(path)) from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise FileFormatError(f"{str(path)!r} cannot be read: {error}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not (is_stream and not stat.S_ISDIR(mode)):
            kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
            raise FileFormatError(f"{path} cannot be read: it is {kind}; expected a file")
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; an error says if it is missing, unreadable (and why) or too large."""
    with opened(path) as file:
        try:
            content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise FileFormatError(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise FileFormatError(
            f"{path} has more than {MOST_BYTES >> 20} MiB, which is the most that is read"
        )
    return content


def unpacked(content: bytes, path: Path) -> bytes:
    """Return the content of a gzip file; an error says if the file is incomplete or too large."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            unpacked_content = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(
            f"{path} is not a whole gzip file ({error}); was it written and copied completely?"
        ) from None
    if len(unpacked_content) > MOST_BYTES:
        raise FileFormatError(
            f"{path} holds more than {MOST_BYTES >> 20} MiB, which is the most that is read"
        )
    if len(unpacked_content) > max(_MUCH, MOST_GROWTH * len(content)):
        raise FileFormatError(
            f"{path} holds {len(unpacked_content) // len(content)} times its size, nearly all of it the same; "
            "unpack it first "
            "(gunzip) if that is right"
        )
    return unpacked_content


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte order mark."""
    return read_content(path).decode()


def read_content(path: Path) -> bytes:
    """Return the text of a UTF-8 file, unpacked, as bytes without a byte order mark.

    The error for a file that is not UTF-8 names the line.
    """
    content = read_bytes(path)
    if path.name.lower().endswith(".gz"):
        content = unpacked(content, path)
    if not content.strip():
        raise FileFormatError(
            f"{path} is empty; was it written completely? Delete it if there was nothing to write"
        )
    try:
        if not content.isascii():
            content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        coding = (
            "UTF-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "LATIN1"
        )
        raise FileFormatError(
            f"{path} is not UTF-8: byte {error.start} (line {line}) is "
            f"0x{content[error.start]:02x}; save it as UTF-8, "
            f"or convert it (iconv -f {coding} -t UTF-8)"
        ) from None
    return content.removeprefix(codecs.BOM_UTF8)


def not_found(path: Path) -> str:
    """Return the message that there is no such file, with those of a similar name."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return (
            f"no file {str(path)!r}: there is no folder {str(folder)!r} (the current folder is "
            f"{Path.cwd()})"
        )
    names = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
    hint = f"; {nearest(path.name, sorted(names))}" if names else ", which is empty"
    return f"no file {str(path)!r} in {folder}{hint}"


@contextmanager
def drafts(*paths: AnyPath) -> Iterator[list[Path]]:
    """Yield a draft beside each file; drafts replace the files once the block ends well.

    After an error in the block, the files stay as they were.

    A draft keeps the last suffixes of its file. Links stay links, and a file that is replaced
    leaves its permissions to the new one. What is no file, such as a device, cannot be replaced and
    is written to directly; a stream of this process (``/dev/stdout``) is given the content at the
    end, behind what it has.

    Raises
    ------
    FileNotFoundError
        When the folder of a file is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with drafts(f"{folder}/a.txt") as [draft]:
    ...         _ = draft.write_text("whole")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    with ExitStack() as ends:
        moves = [(_beside(Path(path), ends), path) for path in paths]
        yield [draft for draft, _ in moves]
        for draft, path in moves:
            if _is_stream(path):
                _passed_on(draft, path)
        files = [
            (draft, Path(os.path.realpath(path))) for draft, path in moves if not _is_stream(path)
        ]
        waiting = [(draft, place) for draft, place in files if draft != place]
        for draft, place in waiting:
            if place.exists():
                shutil.copymode(place, draft)
            _see_on_disk(draft)
        for draft, place in reversed(waiting):  # the first file last: it is what people look for
            os.replace(draft, place)


def write_text(path: AnyPath, text: str) -> Path:
    """Write text as UTF-8, completely or not at all, and return its path.

    A lone surrogate is an error.
    """
    return write_bytes(path, utf8(text))


def write_bytes(path: AnyPath, content: bytes) -> Path:
    """Write bytes, whole or not at all, and return their path."""
    with drafts(path) as [draft]:
        draft.write_bytes(content)
    return Path(path)


def utf8(text: str) -> bytes:
    """Return text in UTF-8; the error names the part that has no place in it (a lone surrogate)."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        excerpt = text[max(error.start - 20, 0) : error.end]
        raise FileFormatError(
            f"{excerpt!r} cannot be written as UTF-8; rename the label or attribute"
        ) from None


def require_folder(path: Path | None) -> None:
    """Raise where a file cannot be written: its folder is not there, or it is a folder itself.

    None is no file: nothing is to be written.
    """
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise FileFormatError(
            f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}; make it first"
        )
    if path.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r}: it is a folder; expected a file")


def _is_stream(path: AnyPath) -> bool:
    """Whether a path is a stream that this process was given."""
    return os.fspath(path).startswith(_GIVEN)


def _passed_on(draft: Path, path: AnyPath) -> None:
    """Write a draft to a stream, behind what was printed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with open(path, "ab") as file:
        file.write(draft.read_bytes())


def _beside(path: Path, ends: ExitStack) -> Path:
    """Return a draft in the folder where a file really is, removed at the end if it is still there.

    A device or the like cannot be replaced: its own place is returned. A stream has its draft in a
    temporary folder.
    """
    suffix = "".join(path.suffixes[-2:])
    if _is_stream(path):
        return Path(ends.enter_context(tempfile.TemporaryDirectory())) / f"draft{suffix}"
    place = Path(os.path.realpath(path))  # through a link, so that the link stays one
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to write to", str(place.parent))
    if place.exists() and not place.is_file():
        return place
    draft = place.with_name(f".{secrets.token_hex(8)}{suffix}")
    draft.touch()
    ends.callback(draft.unlink, missing_ok=True)
    return draft


def _see_on_disk(path: Path) -> None:
    """Wait until a file's content is on the disk, so that it survives a power failure."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())
