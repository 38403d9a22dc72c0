"""Build the site of a tag beside those of other tags: ``python docs/site/versions.py v0.2.0 [FOLDER]``.

``FOLDER/v0.2.0`` has the site, ``FOLDER/versions.json`` the list, and ``FOLDER/index.html`` leads
to the newest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(tag: str, folder: Path) -> None:
    """Build the site from a checkout of the tag, with its own docs and its own package."""
    with tempfile.TemporaryDirectory() as private:
        checkout = Path(private) / "checkout"
        _run("git", "-C", str(ROOT), "worktree", "add", "--detach", str(checkout), tag)
        try:
            path = f"{checkout / 'src'}"
            code = (
                f"import sys; sys.path.insert(0, {path!r}); from sphinx.cmd.build import main; "
                "sys.exit(main())"
            )
            _run(sys.executable, "-c", code, "-q", "-W", str(checkout / "docs"), str(folder / tag))
        finally:
            _run("git", "-C", str(ROOT), "worktree", "remove", "--force", str(checkout))


def index(folder: Path) -> list[str]:
    """Write the list of versions, the newest first, and the page that leads to it; return the list."""
    versions = sorted(
        (path.name for path in folder.iterdir() if (path / "index.html").is_file()), key=number
    )[::-1]
    (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")
    if versions:
        page = (
            f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/index.html">'
        )
        (folder / "index.html").write_text(page, encoding="utf-8")
    return versions


def number(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to sort by."""
    return tuple(int(part) for part in version.removeprefix("v").split(".") if part.isdigit())


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    target = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build" / "sites")
    target.mkdir(parents=True, exist_ok=True)
    build(sys.argv[1], target)
    print(*index(target), sep="\n")
