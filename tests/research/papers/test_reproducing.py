"""`fairlp_research.reproduce` and `fairlp reproduce`: names, files, bad input."""

from __future__ import annotations

import html
import json

import pandas as pd
import pytest

import fairlp_research
from cli_runner import run
from fairlp.errors import FileFormatError, UnknownNameError
from fairlp_research.papers import Ledger, papers
from fairlp_research.papers.registry import Run, Scale
from fairlp_research.papers.reproducing import OURS, PAPERS, find
from ledger_rows import ENTRIES, ledger


@pytest.mark.parametrize(
    "name", [alias for paper in OURS.values() for alias in (paper.number, *paper.names)]
)
def test_a_paper_goes_by_all_of_its_names(name):
    (expected,) = [paper for paper in OURS.values() if name in (paper.number, *paper.names)]
    assert (
        {item.paper for item in find(name)}
        == {item.paper for item in find(name.upper())}
        == {expected}
    )


@pytest.mark.parametrize(
    ("paper", "item", "expected"),
    [
        ("002", "FIGURE 3", ["Figure 3"]),
        ("002", "Fig. 3", ["Figure 3"]),
        ("002", "fig 3", ["Figure 3"]),
        ("002", "fig.3", ["Figure 3"]),
        ("002", "prop. 7", ["Proposition 7"]),
        ("002", "figure  4", ["Figure 4"]),
        (
            "000",
            "table 2",
            ["Table 2, demands 1–100", "Table 2, demands 1–1000", "Tables 1 and 2, sums"],
        ),
        ("000", "Section 6.2, example", ["§6.2, example"]),
        ("003", "eq. (7)", ["Definition 2 and equations (6) to (8)"]),
        ("003", "(8)", ["Definition 2 and equations (6) to (8)"]),
        ("003", "Table 4", ["Table IV, PS-DSF", "Table IV, TSF"]),
        ("003", "Fig. 3", ["Figure 3"]),
        ("003", "Algorithm 1", ["Algorithm I"]),
        ("002", "figure 6", ["Figure 6a", "Figure 6b"]),
        (
            "003",
            "table i",
            [
                f"Table I, {name}"
                for name in ("C-DRFH", "TSF", "PS-DSF", "PS-DSF with time division")
            ],
        ),
    ],
)
def test_an_item_goes_by_what_people_call_it(paper, item, expected):
    assert [entry.item for entry in find(paper, item)] == expected


def test_an_item_without_its_paper_is_that_of_every_paper():
    assert [entry.paper.number for entry in find(item="Lemma 1")] == ["001", "002", "003"]


def test_an_item_is_registered_once():
    with pytest.raises(ValueError, match="an item 'Figure 3' already"):
        OURS["002"].item("Figure 3", "again")


@pytest.mark.slow
def test_a_ledger_goes_to_data_and_back():
    keys = [
        "001 Theorem 2, worst case",
        "002 Figure 2",
        "002 Table II",
        "004 Remarks 2 and 3",
        "004 §5.5, circle of four",
    ]
    small_ledger = ledger(*keys)
    assert Ledger.from_dict(json.loads(json.dumps(small_ledger.to_dict()))) == small_ledger
    assert [str(entry.verdict) for entry in small_ledger] == [
        "equal",
        "equal",
        "not reproduced",
        "not checkable",
        "refuted",
    ]


def test_a_ledger_is_a_table_and_counts():
    small_ledger = ledger("002 Figure 3", "002 Proposition 2", "004 §4, envy-freeness")
    table = small_ledger.table()
    assert table.index.tolist()[0] == ("002", "Figure 3")
    assert table["verdict"].tolist() == ["equal", "holds on 20 instances", "refuted by an instance"]
    assert small_ledger.counts().loc["002"].to_dict() == {
        "equal": 1,
        "holds": 1,
        "refuted": 0,
        "items": 2,
    }
    assert repr(small_ledger) == "<Ledger: 3 items, equal 1, holds 1, refuted 1>"
    words = "".join(repr(table).split())
    page = html.unescape(small_ledger._repr_html_())
    for text in table.to_numpy().ravel():
        assert "".join(text.split()) in words and text in page
    assert max(map(len, repr(table).splitlines())) <= 100
    assert [entry.item for entry in small_ledger.errata] == ["§4, envy-freeness"]
    assert papers().loc[list(OURS), "items"].sum() == len(ENTRIES)


def test_a_ledger_is_written_as_data_table_and_page(tmp_path):
    small_ledger = ledger("001 Theorem 2, worst case", "004 §4, envy-freeness")
    assert (
        Ledger.from_dict(
            json.loads(small_ledger.write(tmp_path / "a.json").read_text(encoding="utf-8"))
        )
        == small_ledger
    )
    assert pd.read_csv(small_ledger.write(tmp_path / "a.csv"), dtype=str)["paper"].tolist() == [
        "001",
        "004",
    ]
    page = small_ledger.write(tmp_path / "a.md").read_text(encoding="utf-8")
    assert "| §4, envy-freeness | No user prefers" in page and "Instance: demands 1; 1; 0.1" in page
    assert (tmp_path / "figures" / "ledger" / "001-theorem-2-worst-case.svg").exists()
    with pytest.raises(FileFormatError, match=r"expected \.json, \.csv, \.md"):
        small_ledger.write(tmp_path / "a.txt")
    with pytest.raises(FileFormatError, match="there is no folder"):
        small_ledger.write(tmp_path / "b" / "a.md")


def test_the_scale_of_the_papers_is_larger_and_studies_go_on(tmp_path, monkeypatch):
    assert Run(Scale.PAPER).of(3, 1000) == 1000 and Run().of(3, 1000) == 3
    from fairlp_research.papers import metin

    monkeypatch.setattr(metin, "PAPER_RUNS", 12)
    first = fairlp_research.reproduce(
        "000", "Table 1, demands 10–20", scale="paper", folder=tmp_path, progress=False
    )
    (entry,) = first
    assert entry.answer.size == "12 of 12 runs" and len(list(tmp_path.rglob("output.pkl"))) == 12
    second = fairlp_research.reproduce(
        "000", "Table 1, demands 10–20", scale="paper", folder=tmp_path, progress=False
    )
    assert second == first and len(list(tmp_path.rglob("output.pkl"))) == 12


@pytest.mark.slow
def test_workers_give_the_same_ledger(tmp_path):
    items = ["Proposition 4", "Proposition 7", "Table II"]
    for item in items:
        expected = fairlp_research.reproduce("002", item, progress=False)
        assert fairlp_research.reproduce("002", item, progress=False, workers=2) == expected
    fairlp_research.reproduce("002", "Table II", progress=False, folder=tmp_path / "new")
    assert len(list(tmp_path.rglob("output.pkl"))) == 5  # a simulation for each size of slots


def test_seeds_draw_other_instances_and_items_draw_their_own():
    entries = [ENTRIES["004 Theorem 1"], ENTRIES["004 Lemma 4"]]
    draws = {entry.key: Run(key=entry.key).rng.random() for entry in entries}
    assert len({*draws.values(), Run(seed=1, key=entries[0].key).rng.random()}) == 3


def test_the_command_prints_one_item_with_its_numbers():
    text = run("reproduce", "wang", "fig. 3", "--no-progress").stdout
    assert "Figure 3" in text and "5/7" in text and "equal" in text and "Numbers" in text
    text = run("reproduce", "004", "§4, envy-freeness").stdout
    assert "refuted by an instance" in text and "instance: demands 1; 1; 0.1" in text


def test_the_command_writes_what_programs_read(tmp_path):
    content = json.loads(run("reproduce", "003", "figure 1", "--json").stdout)
    assert Ledger.from_dict(content) == fairlp_research.reproduce("003", "figure 1")
    run("reproduce", "003", "figure 1", "-o", tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8")) == content
    table = run("reproduce", "002", "figure 2", "--csv", "--seed", 3).stdout
    assert table.splitlines()[0] == "paper,item,paper says,we get,verdict,why"
    several = run("reproduce", "002", "program (7)").stdout
    assert "Verdicts" in several or "Program (7)" in several


def test_the_page_is_written_by_the_command(tmp_path, monkeypatch):
    import fairlp_research.papers.reproducing as reproducing

    entries = [ENTRIES["002 Figure 3"], ENTRIES["004 Figure 5"]]
    monkeypatch.setattr(reproducing, "find", lambda paper, item: entries)
    run("reproduce", "--write", tmp_path / "page.md", "--no-progress")
    assert "| 004 | 1 | 1 |" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "figures" / "ledger").iterdir()] == [
        "004-figure-5.svg"
    ]


# Papers of somebody else: an object, a file, a folder, an installed package.

THEIRS = """
from fairlp import allocate, examples
from fairlp_research import papers

PAPER = papers.Paper("{number}", "A. Author, A paper, 2026", ("{number}-short",))


@PAPER.item("Example 1", "A runs 3 tasks, and B {printed}")
def example(run):
    return papers.beside({{"A": 3, "B": {printed}}}, allocate(examples.ghodsi(), "drf").totals)


@PAPER.statement("Theorem 1", "Somebody has a share of at least 1/n", papers.integers)
def theorem(instance):
    return allocate(instance, "drf").shares.max() >= 1 / len(instance.users)


PAPER.uncheckable("Remark", "It is nice", "a matter of taste")
"""


@pytest.mark.slow
def test_papers_of_files_and_folders_are_computed_as_ours_are(tmp_path):
    for number, printed in (("right", 2), ("wrong", 4)):
        (tmp_path / f"ledger_{number}.py").write_text(
            THEIRS.format(number=number, printed=printed), encoding="utf-8"
        )
    papers_ledger = fairlp_research.reproduce(tmp_path)
    assert [(row.paper, str(row.verdict)) for row in papers_ledger] == [
        *(("right", verdict) for verdict in ("equal", "holds", "not checkable")),
        *(("wrong", verdict) for verdict in ("differs", "holds", "not checkable")),
    ]
    assert [paper.title for paper in papers_ledger.papers] == ["A. Author, A paper, 2026"] * 2
    copy = Ledger.from_dict(json.loads(json.dumps(papers_ledger.to_dict())))
    assert copy == papers_ledger and copy.counts().equals(papers_ledger.counts())
    for workers in (1, 2):
        theorem = fairlp_research.reproduce(
            tmp_path / "ledger_right.py", "theorem 1", workers=workers
        )
        assert len(theorem) == 1 and theorem.rows[0].answer.count == 20
    page = tmp_path / "page.md"
    run("reproduce", tmp_path / "ledger_wrong.py", "--write", page)
    assert "## wrong: A. Author, A paper, 2026" in page.read_text(encoding="utf-8")


def test_a_file_without_a_paper_is_refused(tmp_path):
    (tmp_path / "no_paper_here.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(
        UnknownNameError,
        match=r"no_paper_here.py' has no paper; expected PAPER = fairlp_research.papers.Paper",
    ):
        fairlp_research.reproduce(tmp_path / "no_paper_here.py")
    with pytest.raises(UnknownNameError, match="there is no file"):
        fairlp_research.reproduce(str(tmp_path / "nowhere.py"))
    with pytest.raises(UnknownNameError, match="has no paper"):
        fairlp_research.reproduce(str(tmp_path / "empty") + "/")


def test_an_installed_package_brings_papers(tmp_path, monkeypatch):
    (tmp_path / "ledger_brought.py").write_text(
        THEIRS.format(number="brought", printed=2), encoding="utf-8"
    )
    info = tmp_path / "brought-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: brought\nVersion: 1\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[fairlp.papers]\nbrought = ledger_brought:PAPER\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    PAPERS.__dict__.pop("brought", None)
    try:
        assert len(fairlp_research.reproduce("BROUGHT-short", "example 1")) == 1
        assert papers().loc["brought", "items"] == 3
    finally:
        PAPERS.__dict__.pop("brought", None)
