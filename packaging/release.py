"""Check that a release is whole: version, date, changelog, addresses, metadata, sdist and wheel.

``python packaging/release.py`` checks the files of the checkout. ``python packaging/release.py FOLDER`` also builds the
sdist and the wheel of the last commit into FOLDER, with a README whose links lead somewhere on an index too, and
checks them. What is wrong is printed, and the exit code is then 1.
"""

from __future__ import annotations

import datetime
import email.parser
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
#: Addresses that pyproject.toml names, and who else has them: the keys of CITATION.cff and of conda's "about".
ADDRESSES: dict[str, dict[str, str]] = {
    "Homepage": {"CITATION.cff": "url", "packaging/conda/meta.yaml": "home"},
    "Documentation": {"packaging/conda/meta.yaml": "doc_url"},
    "Source": {"CITATION.cff": "repository-code", "packaging/conda/meta.yaml": "dev_url"},
    "Changelog": {},
    "Issues": {},
}
#: Links of Markdown that are relative, and pictures.
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
HEADING = re.compile(r"^## (\S+)(?: \((\d{4}-\d\d-\d\d)\))?$", re.MULTILINE)
PYTHON = "Programming Language :: Python :: 3."
IN_SDIST = ("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "tests/public_interface.txt")
IN_WHEEL = (
    "fairlp/__init__.pyi",
    "fairlp/py.typed",
    "fairlp_check.py",
    "fairlp_clusters/__init__.pyi",
    "fairlp_clusters/page/page.html.j2",
    "fairlp_research/__init__.pyi",
)


def read(root: Path, name: str) -> str:
    """Return the text of a file of the checkout."""
    return (root / name).read_text(encoding="utf-8")


def version_of(root: Path) -> str:
    """Return the version, from the one place that has it."""
    match = re.search(r'__version__ = "(.*)"', read(root, "src/fairlp/_version.py"))
    return match[1] if match else ""


def recipe_of(root: Path) -> dict[str, Any]:
    """Return the conda recipe, with the version and without its Jinja."""
    text = read(root, "packaging/conda/meta.yaml")
    version = re.search(r'{% set version = "(.*)" %}', text)
    text = text.replace("{{ version }}", version[1] if version else "").replace(
        "{{ PYTHON }}", "python"
    )
    recipe: dict[str, Any] = yaml.safe_load(re.sub(r"{%.*%}", "", text))
    return recipe


def checkout_problems(root: Path = ROOT) -> list[str]:
    """Return what is wrong in the files of a checkout, a sentence each."""
    project = tomllib.loads(read(root, "pyproject.toml"))["project"]
    return [
        *version_problems(root, project),
        *changelog_problems(root),
        *recipe_problems(root, project),
        *address_problems(root, project),
    ]


def version_problems(root: Path, project: dict[str, Any]) -> list[str]:
    """Return where the version, and what follows from it, is another one."""
    version = version_of(root)
    problems = []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        problems.append(f"src/fairlp/_version.py: {version!r} is no version X.Y.Z")
    cited = str(yaml.safe_load(read(root, "CITATION.cff")).get("version"))
    if cited != version:
        problems.append(f"CITATION.cff: version {cited}, expected {version}")
    packaged = str(recipe_of(root)["package"]["version"])
    if packaged != version:
        problems.append(f"packaging/conda/meta.yaml: version {packaged}, expected {version}")
    stable = "Development Status :: 5 - Production/Stable" in project["classifiers"]
    if stable != (not version.startswith("0.")):
        problems.append(f"pyproject.toml: the development status is not that of version {version}")
    tested = yaml.safe_load(read(root, ".github/workflows/tests.yml"))["jobs"]["tests"]
    pythons = [
        name.removeprefix(PYTHON) for name in project["classifiers"] if name.startswith(PYTHON)
    ]
    matrix = [name.removeprefix("3.") for name in tested["strategy"]["matrix"]["python"]]
    if pythons != matrix or project["requires-python"] != f">=3.{pythons[0]}":
        problems.append(
            f"pyproject.toml: Pythons 3.{pythons} are not those of tests.yml or requires-python"
        )
    return problems


def changelog_problems(root: Path) -> list[str]:
    """Return what is wrong with the newest heading of the changelog, and with the date of the citation."""
    version = version_of(root)
    heading = HEADING.search(read(root, "CHANGELOG.md"))
    if heading is None or heading[1] != version or heading[2] is None:
        return [f"CHANGELOG.md: its first heading is not '## {version} (YYYY-MM-DD)'"]
    problems = []
    try:
        datetime.date.fromisoformat(heading[2])
    except ValueError:
        problems.append(f"CHANGELOG.md: {heading[2]} is no day")
    released = str(yaml.safe_load(read(root, "CITATION.cff")).get("date-released"))
    if released != heading[2]:
        problems.append(
            f"CITATION.cff: date-released {released}, expected {heading[2]} of CHANGELOG.md"
        )
    return problems


def recipe_problems(root: Path, project: dict[str, Any]) -> list[str]:
    """Return how the conda recipe differs from pyproject.toml."""
    recipe = recipe_of(root)
    problems = []
    # on conda, CVXPY without its optional solvers is cvxpy-base
    needed = {need.replace("cvxpy>", "cvxpy-base>") for need in project["dependencies"]}
    needed.add(f"python{project['requires-python']}")
    packaged = {need.replace(" ", "") for need in recipe["requirements"]["run"]}
    for need in sorted(needed ^ packaged):
        where = "pyproject.toml" if need in needed else "the recipe"
        problems.append(f"packaging/conda/meta.yaml: {need} stands in {where} only")
    entries = {f"{name} = {target}" for name, target in project["scripts"].items()}
    if set(recipe["build"]["entry_points"]) != entries:
        problems.append(
            "packaging/conda/meta.yaml: its entry points are not the scripts of pyproject.toml"
        )
    if recipe["about"]["license"] != project["license"]:
        problems.append("packaging/conda/meta.yaml: another licence than pyproject.toml")
    if not str(recipe["source"]["url"]).endswith(f"fairlp-{recipe['package']['version']}.tar.gz"):
        problems.append(
            "packaging/conda/meta.yaml: it does not build from the sdist of its version"
        )
    return problems


def address_problems(root: Path, project: dict[str, Any]) -> list[str]:
    """Return which addresses are missing, or differ from those of pyproject.toml, their one place."""
    urls = project.get("urls", {})
    missing = [name for name in ADDRESSES if not urls.get(name, "").startswith("https://")]
    if missing:
        return [f"pyproject.toml: [project.urls] lacks {', '.join(missing)}"]
    files = {
        "CITATION.cff": yaml.safe_load(read(root, "CITATION.cff")),
        "packaging/conda/meta.yaml": recipe_of(root)["about"],
    }
    return [
        f"{name}: {key} is {files[name].get(key)}, expected {urls[title]} of pyproject.toml"
        for title, places in ADDRESSES.items()
        for name, key in places.items()
        if files[name].get(key) != urls[title]
    ]


def with_addresses(readme: str, source: str, version: str) -> str:
    """Return a README whose relative links lead to the files of a version."""

    def absolute(match: re.Match[str]) -> str:
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({source.rstrip('/')}/{kind}/v{version}/{match[3]})"

    return RELATIVE.sub(absolute, readme)


def build(root: Path, folder: Path) -> None:
    """Build the sdist and the wheel of the last commit, with a README for an index."""
    project = tomllib.loads(read(root, "pyproject.toml"))["project"]
    with tempfile.TemporaryDirectory() as name:
        checkout = Path(name) / "fairlp"
        checkout.mkdir()
        archive = Path(name) / "checkout.tar"
        subprocess.run(["git", "archive", "-o", str(archive), "HEAD"], cwd=root, check=True)
        with tarfile.open(archive) as packed:
            packed.extractall(checkout, filter="tar")
        readme = with_addresses(
            read(root, "README.md"), project["urls"]["Source"], version_of(root)
        )
        (checkout / "README.md").write_text(readme, encoding="utf-8")
        command = [sys.executable, "-m", "build", "--outdir", str(folder), str(checkout)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def distribution_problems(root: Path, folder: Path) -> list[str]:
    """Return what is wrong with the sdist and the wheel in a folder."""
    version = version_of(root)
    project = tomllib.loads(read(root, "pyproject.toml"))["project"]
    sdist = folder / f"fairlp-{version}.tar.gz"
    wheel = folder / f"fairlp-{version}-py3-none-any.whl"
    absent = [f"{path.name} is not in {folder}" for path in (sdist, wheel) if not path.is_file()]
    if absent:
        return absent

    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    problems = [f"{sdist.name} lacks {name}" for name in IN_SDIST if name not in names]
    with zipfile.ZipFile(wheel) as packed_wheel:
        inside = set(packed_wheel.namelist())
        metadata = packed_wheel.read(f"fairlp-{version}.dist-info/METADATA").decode("utf-8")
    problems += [f"{wheel.name} lacks {name}" for name in IN_WHEEL if name not in inside]

    fields = email.parser.Parser().parsestr(metadata)
    needs = [need for need in fields.get_all("Requires-Dist", []) if "extra ==" not in need]
    if sorted(map(parts_of, needs)) != sorted(map(parts_of, project["dependencies"])):
        problems.append(f"{wheel.name}: other dependencies than pyproject.toml")
    for field, expected in (
        ("Version", version),
        ("Requires-Python", project["requires-python"]),
        ("License-Expression", project["license"]),
    ):
        if fields[field] != expected:
            problems.append(f"{wheel.name}: {field} is {fields[field]}, expected {expected}")
    relative = [match[3] for match in RELATIVE.finditer(str(fields.get_payload()))]
    if relative:
        problems.append(
            f"{wheel.name}: links of its description lead nowhere: {', '.join(relative[:3])}"
        )
    return problems


def parts_of(need: str) -> list[str]:
    """Return a requirement in parts, in any order of its bounds."""
    return sorted(re.sub(r"([<>=!])", r",\1", need.replace(" ", ""), count=1).split(","))


def main(arguments: list[str]) -> int:
    """Check, print what is wrong, and return the exit code."""
    problems = checkout_problems()
    if arguments and not address_problems(
        ROOT, tomllib.loads(read(ROOT, "pyproject.toml"))["project"]
    ):
        folder = Path(arguments[0])
        build(ROOT, folder)
        problems += distribution_problems(ROOT, folder)
        for path in sorted(folder.glob(f"fairlp-{version_of(ROOT)}*")):
            print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")
    elif arguments:
        problems.append("nothing is built: the links of the README need [project.urls]")
    print("\n".join(problems) or f"fairlp {version_of(ROOT)} is whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
