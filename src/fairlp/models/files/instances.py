"""Read and write instances: ``.json`` or ``.yaml``.

What is written is read back before it takes the place of an older file, so nothing is lost
unnoticed. The formats are described in ``docs/file-formats.md``, and that of ``.json`` and
``.yaml`` by :func:`.schema.schema`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import FileFormatError, InstanceError, needed_by, quoted
from ..instances.instance import Instance
from .documents import from_document, to_document
from .whole_files import (
    MOST_DEPTH,
    MOST_REPEATED,
    TOO_DEEP,
    YAML_SUFFIXES,
    depth,
    drafts,
    home,
    not_found,
    read_text,
    require_folder,
    utf8,
    write_text,
)

with needed_by("files of instances and studies"):
    import yaml

if TYPE_CHECKING:
    from yaml import SafeDumper as _BaseDumper, SafeLoader as _BaseLoader
else:
    _BaseLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _BaseDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

__all__ = ["read_document", "write_document", "yaml_document"]

_EXPECTED = (
    "expected .json, .yaml or .yml (tables: fairlp.Instance.from_frames(pandas.read_csv(…), …))"
)
_YAML_STYLE: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 10**6}
_dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
#: A mapping of a document.
Record = dict[str, Any]


def read(path: str | Path) -> Instance:
    """Return the instance of a file, or of what an installed package reads.

    Parameters
    ----------
    path : str or Path
        ``x.json``, ``x.yaml``, ``x.yml``; or what the reader of an installed package takes (entry
        points ``fairlp.readers``): a scheduler's dump, the folder of a trace.

    Returns
    -------
    Instance

    Raises
    ------
    FileFormatError
        When it is not there, cut off, of another encoding, format or schema version; the message
        says where.
    InstanceError
        When it can be read but does not describe an allocation problem.
    """
    source = home(path)
    suffix = source.suffix.lower()
    is_program = suffix in (".mps", ".lp", ".gz")
    hint = "; a program is read with fairlp.read_program(path)" if is_program else ""
    if suffix not in _PARSERS and source.exists() and (instance := _by_others(source)) is not None:
        return instance
    document = read_document(source, f"{_EXPECTED}{hint}")
    is_own = isinstance(document, dict) and "fairlp" in document
    if not is_own and (instance := _by_others(source)) is not None:
        return instance
    return from_document(document, str(path))


def _by_others(source: Path) -> Instance | None:
    """Return what an installed package makes of a file or folder; None where it is of none.

    Packages bring readers by entry points in the group ``fairlp.readers``: functions of a path that
    return an Instance, or None for what is not theirs.
    """
    from importlib.metadata import entry_points

    instances = (point.load()(source) for point in entry_points(group="fairlp.readers"))
    return next((instance for instance in instances if instance is not None), None)


def read_document(source: Path, expected: str = "expected .json, .yaml or .yml") -> Any:
    """Return the plain data of a JSON or YAML file; an error names the place that is unreadable."""
    suffix = source.suffix.lower()
    if not source.exists():
        raise FileFormatError(not_found(source))
    if suffix not in _PARSERS:
        raise FileFormatError(f"cannot tell the format of {str(source)!r}; {expected}")
    text = read_text(source)
    try:
        document = _PARSERS[suffix](text)
        if depth(document) > MOST_DEPTH:
            raise ValueError(TOO_DEEP)
        return document
    except RecursionError:
        raise FileFormatError(f"{source}: {TOO_DEEP}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise FileFormatError(
            f"{source}: {fault_of(error)}; is the file cut off or edited by hand?"
        ) from None


def yaml_text(document: Any) -> str:
    """Return plain data as YAML of one meaning in YAML 1.1 and 1.2, short lists on one line."""
    text: str = yaml.dump(document, Dumper=_Dumper, default_flow_style=None, **_YAML_STYLE)
    return text


def write_document(path: str | Path, document: Any) -> Path:
    """Write plain data as JSON or YAML, and return the file."""
    target = home(path)
    suffix = target.suffix.lower()
    if suffix not in _PARSERS:
        raise FileFormatError(
            f"cannot tell the format of {str(path)!r}; expected .json, .yaml or .yml"
        )
    require_folder(target)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return write_text(target, text if suffix == ".json" else yaml_text(document))


def write(instance: Instance, path: str | Path) -> list[Path]:
    """Write an instance as JSON or YAML, and return the file in a list.

    The file is written beside its place, read back and compared; only then does it take that place,
    so that an older file stays as it was when anything fails.

    Parameters
    ----------
    instance : Instance
    path : str or Path

    Raises
    ------
    FileFormatError
        When the format is unknown, or cannot hold the instance; the message names what would be
        lost.
    """
    target = home(path)
    suffix = target.suffix.lower()
    if suffix not in _DUMPERS:
        raise FileFormatError(f"cannot tell the format of {str(path)!r}; {_EXPECTED}")
    require_folder(target)
    content = utf8(_DUMPERS[suffix](to_document(instance)))
    with drafts(target) as [draft]:
        draft.write_bytes(content)
        check(instance, draft, target)
    return [target]


def check(instance: Instance, draft: Path, target: Path) -> None:
    """Read a draft back; raise when anything was lost."""
    try:
        lost = differences(instance, read(draft))
    except (FileFormatError, InstanceError) as error:
        reason = str(error).replace(str(draft), target.name)
        raise FileFormatError(
            f"{str(target)!r} was not written: it could not be read back ({reason})"
        ) from None
    if lost:
        advice = (
            ""
            if target.suffix.lower() == ".json"
            else "; write .json, or rename what is named here"
        )
        raise FileFormatError(
            f"{str(target)!r} was not written: it would lose or change {', '.join(lost)}{advice}"
        )


def differences(a: Instance, b: Instance) -> list[str]:
    """Return the names of what differs between two instances.

    >>> one = Instance.from_arrays([[1]], [[2]])
    >>> differences(one, Instance.from_arrays([[1]], [[3]], name="other"))
    ['capacities', 'name']
    """
    if a.equals(b):
        return []
    return [
        field.name
        for field in fields(a)
        if not a.derived(**{field.name: getattr(b, field.name)}).equals(a)
    ]


def fault_of(error: Exception) -> str:
    """Return what a parser says, with line and column."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, yaml.MarkedYAMLError) and mark is not None:
        message = ", ".join(text for text in (error.context, error.problem) if text)
        return f"line {mark.line + 1}, column {mark.column + 1}: {message}"
    return " ".join(str(error).split())


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(
                f"key {quoted(key)} occurs twice in one mapping ({_dumps(dict(pairs[:1]))[:60]}…)"
            )
        mapping[key] = value
    return mapping


def _no_constant(name: str) -> Any:
    raise ValueError(
        f"{name} is not JSON; expected a finite number (leave the key out for no limit)"
    )


_parse_json = partial(json.loads, object_pairs_hook=_once, parse_constant=_no_constant)


def _dump_json(document: dict[str, Any]) -> str:
    """Return JSON with one record on each line."""
    parts = []
    for key, value in document.items():
        shown = _dumps(value)
        if isinstance(value, list) and value:
            shown = "[\n" + ",\n".join(f"    {_dumps(row)}" for row in value) + "\n  ]"
        parts.append(f"  {_dumps(key)}: {shown}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


class _Loader(_BaseLoader):
    """A YAML loader with the plain types of YAML 1.2, which refuses repeated keys.

    ``no``, ``010``, ``1:30`` and dates are text.
    """

    yaml_implicit_resolvers = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    mark = key_node.start_mark
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {quoted(key)} occurs twice", mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


class _Dumper(_BaseDumper):
    """YAML that quotes text which YAML 1.1 or 1.2 could take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?")
for _tag, _pattern, _first in (
    ("null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF")),
    ("int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)"), list("-+0123456789")),
    ("float", re.compile(r"(?![-+]?0[0-9])" + _FLOAT.pattern), list("-+.0123456789")),
):
    _exact = re.compile(rf"(?:{_pattern.pattern})\Z")
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _exact, _first)
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _exact, _first)


def _parse_yaml(text: str) -> Any:
    measure_yaml(text)
    return yaml.load(text, Loader=_Loader)  # a SafeLoader


def yaml_document(text: str) -> Any:
    """Return what a text of YAML says; a ValueError says where it is none, or nested too deeply.

    >>> yaml_document("a: [1, 2]")
    {'a': [1, 2]}
    """
    try:
        measure_yaml(text)
        return yaml.load(text, Loader=_BaseLoader)  # a SafeLoader
    except (ValueError, yaml.YAMLError) as error:  # ValueError: the 99th of a month
        raise ValueError(fault_of(error)) from None


def measure_yaml(text: str) -> None:
    """Raise where YAML is nested too deeply or its aliases stand for too many values.

    The check comes first because the construction of values is recursive.

    A list of two aliases of a list of two aliases of … doubles with every line; what aliases stand
    for is counted.
    """
    open_ = []  # lists and mappings around: the anchor of each, and values so far
    sizes = {}  # values of each anchor
    repeated = size = 0
    for event in yaml.parse(text, Loader=_BaseLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            if len(open_) > MOST_DEPTH:
                raise yaml.MarkedYAMLError(problem=TOO_DEEP, problem_mark=event.start_mark)  # type: ignore[arg-type]
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
            if anchor is not None:
                sizes[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(str(event.anchor), 1)
            repeated += size
            if any(anchor == event.anchor for anchor, _ in open_) or repeated > MOST_REPEATED:
                problem = (
                    f"alias {event.anchor!r} stands for something that holds itself, or for too "
                    "much"
                )
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]
        else:
            size = 1
            if isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
                sizes[event.anchor] = 1
        if open_:
            anchor, before = open_[-1]
            open_[-1] = anchor, before + size


def _dump_yaml(document: dict[str, Any]) -> str:
    """Return YAML whose last key is required, so that readers notice a truncated file."""
    body = dict(document)
    body["resources"] = body.pop("resources")
    return yaml_text(body)


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".json": _parse_json,
    **dict.fromkeys(YAML_SUFFIXES, _parse_yaml),
}
_DUMPERS: dict[str, Callable[[dict[str, Any]], str]] = {
    ".json": _dump_json,
    **dict.fromkeys(YAML_SUFFIXES, _dump_yaml),
}
