"""Pages that are made from the code when the site is built, so that they cannot differ from it.

Into ``docs/generated``: the notebooks, a page for every public name, the commands, the tables of
mechanisms and of back ends, the ledger by paper, the gallery, the changelog, and the bibliography.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
from pathlib import Path

from command_reference import write_commands
from gallery import write_gallery
from ledger_pages import summary, write_ledger
from public_names import write_api
from reference_tables import write_tables

DOCS = Path(__file__).parents[1]
TARGET = DOCS / "generated"
#: What links in sources mean on the site.
MOVED = (
    (re.compile(r"\]\(\.\./notebooks/([\w-]+)\.ipynb"), r"](generated/learn/\1.ipynb"),
    (re.compile(r"\[([^\]]*)\]\(\.\./(?:benchmarks|src|tests)[^)]*\)"), r"\1"),
)


def write_notebooks(folder: Path) -> None:
    """Copy the notebooks, with links to pages of docs/ that are right from where the copies are."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((DOCS.parent / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = re.sub(r"\]\(\.\./docs/", "](DOCS/", "".join(cell["source"]))
                text = re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", text)
                cell["source"] = text.replace("](DOCS/", "](../../")
        (folder / path.name).write_text(json.dumps(notebook), encoding="utf-8")


def write_changelog(path: Path) -> None:
    """Copy the changelog, with links to pages of docs/ that are right from where the copy is."""
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    path.write_text(text.replace("](docs/", "](../"), encoding="utf-8")


def write_all(app: object) -> None:
    """Write all of it."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    write_notebooks(TARGET / "learn")
    write_api(TARGET / "api")
    write_commands(TARGET / "commands.md")
    write_tables(TARGET)
    write_ledger(TARGET / "ledger")
    write_gallery(TARGET / "gallery")
    write_changelog(TARGET / "changelog.md")


def move_links(app: object, name: str, source: list[str]) -> None:
    """Let links of pages of docs/ lead to what lies elsewhere on the site."""
    if name.startswith("generated"):
        return
    if name == "ledger":
        source[0] = summary(source[0])
    for pattern, by in MOVED:
        source[0] = pattern.sub(by, source[0])


def without_doctest_flags(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Leave out of docstrings what only doctest reads."""
    for k, line in enumerate(lines):
        lines[k] = re.sub(r"\s*# doctest:.*$", "", line)
    if inspect.ismodule(obj):
        lines.append("")


def without_docstring_of_type(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Leave out of a page about a dict or a tuple what Python says of all dicts or tuples."""
    text = inspect.getdoc(type(obj)) or ""
    if what == "data" and lines[:1] == text.splitlines()[:1]:
        lines.clear()


def setup(app: object) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_all)  # type: ignore[attr-defined]
    app.connect("source-read", move_links)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", without_doctest_flags)  # type: ignore[attr-defined]
    # before napoleon, which rewrites what it takes for sections
    app.connect("autodoc-process-docstring", without_docstring_of_type, priority=400)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True}
