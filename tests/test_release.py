"""What a release needs is checked: version, date, changelog, addresses, recipe, sdist and wheel."""

import importlib.util
import io
import re
import shutil
import tarfile
import zipfile

import pytest

from paths import ROOT

FILES = (
    "pyproject.toml",
    "CHANGELOG.md",
    "CITATION.cff",
    "README.md",
    "packaging/conda/meta.yaml",
    ".github/workflows/tests.yml",
    "src/fairlp/_version.py",
)
HOME = "https://example.org/fairlp"


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", ROOT / "packaging" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edit(root, name, old, new):
    path = root / name
    text = path.read_text(encoding="utf-8")
    changed = re.sub(old, new, text, count=1, flags=re.MULTILINE)
    assert changed != text, f"{name} has no {old}"
    path.write_text(changed, encoding="utf-8")


@pytest.fixture
def checkout(tmp_path):
    """The files that are checked, with addresses."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("Homepage", "Documentation", "Source", "Changelog", "Issues"):
        edit(tmp_path, "pyproject.toml", f'# {name} = ""', f'{name} = "{HOME}"')
    edit(tmp_path, "pyproject.toml", r"# \[project.urls\]", "[project.urls]")
    edit(tmp_path, "CITATION.cff", "^license:", f"url: {HOME}\nrepository-code: {HOME}\nlicense:")
    about = f"  home: {HOME}\n  doc_url: {HOME}\n  dev_url: {HOME}\n"
    edit(tmp_path, "packaging/conda/meta.yaml", "^about:\n", f"about:\n{about}")
    return tmp_path


def test_this_checkout_lacks_nothing_but_addresses(release):
    assert [
        line for line in release.checkout_problems() if "[project.urls] lacks" not in line
    ] == []


def test_a_checkout_with_addresses_is_whole(release, checkout):
    assert release.checkout_problems(checkout) == []


WRONG = {
    "version of the code": ("src/fairlp/_version.py", r'"[\d.]+"', '"9.9.9"', "CITATION.cff: version"),
    "no version": ("src/fairlp/_version.py", r'"[\d.]+"', '"9.9rc"', "no version X.Y.Z"),
    "version of the citation": ("CITATION.cff", r"^version: .*", "version: 9.9.9", "CITATION.cff: version 9.9.9"),
    "day of the citation": ("CITATION.cff", r"^date-released: .*", "date-released: 2020-01-01", "date-released"),
    "version of the recipe": ("packaging/conda/meta.yaml", r'version = ".*"', 'version = "9.9.9"', "yaml: version"),
    "need of the recipe": ("packaging/conda/meta.yaml", r"numpy >=[\d.]+", "numpy >=9", "numpy>=9 stands in"),
    "new need": ("pyproject.toml", r'^  "rich>=', '  "tqdm>=4",\n  "rich>=', "tqdm>=4 stands in pyproject.toml only"),
    "script": ("packaging/conda/meta.yaml", "fairlp.cli:main", "fairlp.cli:run", "entry points"),
    "licence": ("packaging/conda/meta.yaml", "license: .*", "license: MIT", "another licence"),
    "recipe from a checkout": ("packaging/conda/meta.yaml", r"  url: .*gz", "  url: ../..", "build from the sdist"),
    "no day": ("CHANGELOG.md", r"^(## \S+) \(.*\)", r"\1", "CHANGELOG.md: its first heading is not"),
    "impossible day": ("CHANGELOG.md", r"^(## \S+) \(.*\)", r"\1 (2026-13-01)", "is no day"),
    "unreleased": ("CHANGELOG.md", "^## ", "## Unreleased\n\n## ", "CHANGELOG.md: its first heading is not"),
    "status": ("pyproject.toml", "5 - Production/Stable", "3 - Alpha", "development status"),
    "Pythons": ("pyproject.toml", r'^.*Python :: 3\.14",\n', "", "tests.yml"),
    "an address": ("pyproject.toml", "^Issues = .*", 'Issues = ""', r"\[project.urls\] lacks Issues"),
    "another address": ("CITATION.cff", "^url: .*", "url: https://example.com", "CITATION.cff: url is"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_printed(case, release, checkout):
    name, old, new, message = WRONG[case]
    edit(checkout, name, old, new)
    problems = release.checkout_problems(checkout)
    assert any(re.search(message, line) for line in problems), problems


def test_links_of_the_readme_lead_somewhere_on_an_index(release):
    readme = "![picture](docs/a.svg) [page](docs/a.md), [there](https://x.org), [below](#b)"
    assert release.with_addresses(readme, f"{HOME}/", "1.2.3") == (
        f"![picture]({HOME}/raw/v1.2.3/docs/a.svg) [page]({HOME}/blob/v1.2.3/docs/a.md), "
        "[there](https://x.org), [below](#b)"
    )
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert release.RELATIVE.search(text)
    assert not release.RELATIVE.search(release.with_addresses(text, HOME, "1.2.3"))


def distribution(release, root, description="A [page](https://x.org).", without=(), needs=None):
    """An sdist and a wheel with what is looked at only."""
    folder = root / "dist"
    folder.mkdir()
    version = release.version_of(root)
    project = release.tomllib.loads(release.read(root, "pyproject.toml"))["project"]
    needs = project["dependencies"] if needs is None else needs
    head = [
        f"Version: {version}",
        f"Requires-Python: {project['requires-python']}",
        "License-Expression: Apache-2.0",
        *(f"Requires-Dist: {need}" for need in needs),
        'Requires-Dist: matplotlib>=3.9; extra == "plot"',
    ]
    with tarfile.open(folder / f"fairlp-{version}.tar.gz", "w:gz") as packed:
        for name in set(release.IN_SDIST) - set(without):
            packed.addfile(tarfile.TarInfo(f"fairlp-{version}/{name}"), io.BytesIO())
    with zipfile.ZipFile(folder / f"fairlp-{version}-py3-none-any.whl", "w") as packed:
        for name in set(release.IN_WHEEL) - set(without):
            packed.writestr(name, "")
        metadata = "\n".join(head) + f"\n\n{description}"
        packed.writestr(f"fairlp-{version}.dist-info/METADATA", metadata)
    return folder


def test_a_whole_distribution_has_no_problems(release, checkout):
    assert release.distribution_problems(checkout, distribution(release, checkout)) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"without": ["fairlp/py.typed"]}, "whl lacks fairlp/py.typed"),
        ({"without": ["CITATION.cff"]}, "tar.gz lacks CITATION.cff"),
        ({"description": "A [page](docs/a.md)."}, "lead nowhere: docs/a.md"),
        ({"needs": ["numpy>=1"]}, "other dependencies"),
    ],
)
def test_what_a_distribution_lacks_is_printed(change, message, release, checkout):
    (problem,) = release.distribution_problems(checkout, distribution(release, checkout, **change))
    assert message in problem


def test_a_folder_without_the_files_of_the_version_is_named(release, checkout, tmp_path):
    assert len(release.distribution_problems(checkout, tmp_path)) == 2


def test_the_exit_code_says_whether_the_release_is_whole(release, capsys):
    problems = release.checkout_problems()
    assert release.main([]) == (1 if problems else 0)
    assert all(line in capsys.readouterr().out for line in problems)
