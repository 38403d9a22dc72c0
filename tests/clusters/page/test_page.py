"""The page, as text: one file, everything in it, bounded in size, hostile names as data."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import fairlp
import fairlp_clusters
from cli_runner import run
from fairlp import Instance
from fairlp.errors import FairlpError, InstanceError, UnknownNameError
from fairlp_clusters.dues.facts import Facts
from fairlp_clusters.page.page import ReportNotAvailableError
from kubernetes_dumps import node, pod, written
from profiles import by_day
from report_cases import HOSTILE, hostile, queued

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


class Parsed(HTMLParser):
    """Tags with their attributes, and the text of the page outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self._inside = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside = tag

    def handle_endtag(self, tag):
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data):
        if not self._inside:
            self.texts.append(data)


SECTIONS = ["verdict", "queues", "users"]


@pytest.mark.slow
def test_every_section_is_there_and_nothing_is_fetched(page):
    tags = Parsed(page).tags
    assert [a["id"] for tag, a in tags if tag == "section"] == SECTIONS
    assert [a["href"] for tag, a in tags if tag == "a"] == [
        "#main",
        *(f"#{name}" for name in SECTIONS),
    ]
    assert not [a for _, a in tags if "src" in a or a.get("href", "#")[0] != "#"]
    assert not [tag for tag, _ in tags if tag in ("link", "iframe", "img", "object")]
    policy = next(
        a["content"] for tag, a in tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert (
        policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe-eval" not in policy
    )
    assert len(page.encode()) < 5_000_000


def test_the_page_can_be_heard(page):
    parsed = Parsed(page)
    headers = [a for tag, a in parsed.tags if tag == "th" and a.get("scope") == "col"]
    assert len(headers) > 30 and all(a["aria-sort"] == "none" for a in headers)
    assert (
        sum(tag == "caption" for tag, _ in parsed.tags)
        == sum(tag == "table" for tag, _ in parsed.tags)
        == 5
    )
    assert ("html", {"lang": "en"}) in parsed.tags


def test_the_numbers_are_those_of_the_tables(page):
    instance, observed = queued()
    table = fairlp_clusters.fair_shares(instance, observed=observed, by="queue")
    rows = re.search(r'<table id="queue-table">.*?</table>', page, re.DOTALL)[0]
    values = [float(value or "nan") for value in re.findall(r'data-value="([^"]*)"', rows)]
    numbers = np.array(values).reshape(len(table), -1)
    names = [
        "share",
        "fair_share",
        "waiting",
        "tasks",
        "fair_tasks",
        "users",
        "weight",
        "guarantee",
        "borrowed",
    ]
    assert np.array_equal(numbers, table[names].to_numpy(dtype=float), equal_nan=True)


def test_hostile_names_are_data(tmp_path):
    instance, observed = hostile()
    path = fairlp_clusters.report(instance, tmp_path / "hostile.html", observed=observed)
    text = path.read_text(encoding="utf-8")
    parsed = Parsed(text)
    assert sum(tag == "script" for tag, _ in parsed.tags) == 1
    assert not [a for _, a in parsed.tags if any(name.startswith("on") for name in a)]
    all_text = "".join(parsed.texts)
    assert all(name in all_text for name in HOSTILE)


def test_an_instance_alone_is_reported_by_its_mechanism(tmp_path):
    instance = fairlp.examples.load("wang-figure-1")
    text = fairlp_clusters.report(instance, tmp_path / "r.html", "tsf").read_text(encoding="utf-8")
    parsed = Parsed(text)
    sections = [a["id"] for tag, a in parsed.tags if tag == "section"]
    assert sections == [name for name in SECTIONS if name != "queues"]
    assert "What runs now is not known." in text and "fair by tsf" in text


def test_without_its_package_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        ReportNotAvailableError, match=r'jinja2.*pip install "fairlp\[report\]"'
    ) as error:
        fairlp_clusters.report(fairlp.examples.load("ghodsi"), tmp_path / "r.html")
    assert isinstance(error.value, FairlpError) and isinstance(error.value, ImportError)
    assert not (tmp_path / "r.html").exists()


def at_the_edge():
    """Clusters of which there is little to say, by name: instance, what runs, mechanism."""
    make = fairlp.Instance.from_arrays
    demands = [[1.0], [2.0]]
    return {
        "nobody has a task": (make(demands, [[4.0]], task_limits=[0, 0]), None, None),
        "nothing runs": (make(demands, [[4.0]], queue=["a", "a"]), [[0], [0]], None),
        "all stand in the root": (make(demands, [[4.0]], queue=[None, None]), [[1], [1]], None),
        "labels are numbers": (
            make(demands, [[4.0]], users=[1, 2], servers=[7], resources=["cpu"]),
            [[1], [1]],
            None,
        ),
        "more runs than fits": (make(demands, [[4.0]]), [[9], [3]], None),
        "rates are given": (make([[1.0, 1.0]], [[4.0, 4.0]], rates=[[2.0]]), [[1]], None),
        "users arrive": (fairlp.examples.load("ghodsi"), None, "dynamic-drf"),
    }


@pytest.mark.parametrize("name", by_day(at_the_edge(), 3))
def test_of_little_there_is_a_page_too(name, tmp_path):
    instance, observed, mechanism = at_the_edge()[name]
    text = fairlp_clusters.report(
        instance, tmp_path / "r.html", mechanism, observed=observed
    ).read_text(encoding="utf-8")
    assert {"verdict", "users"} <= {a.get("id") for tag, a in Parsed(text).tags if tag == "section"}


@pytest.mark.slow
def test_excluded_queues_use_but_are_owed_nothing(tmp_path):
    """The system has 10 of 16 CPUs; of the rest each of two queues may have 3."""
    cluster = Instance.from_arrays(
        np.ones((3, 1)),
        [[16.0]],
        users=["sys", "ann", "bob"],
        queue=["system/core", "a", "b"],
        task_limits=[20, 9, 9],
    )
    snapshot = Facts(
        cluster, np.array([[10.0], [6.0], [0.0]]), np.array([10.0, 3.0, 9.0]), scheduler="slurm"
    )
    rest = snapshot.without(["system"])
    assert list(rest.instance.users) == ["ann", "bob"] and rest.instance.pool.tolist() == [6]
    assert rest.excluded.to_dict() == {"resource1": 10.0} and rest.without([]) is rest
    path = fairlp_clusters.report(snapshot, tmp_path / "page.html", exclude=["system"])
    text = " ".join(Parsed(path.read_text("utf-8")).texts)
    assert (
        "Not fair: bob is 3 tasks short" in text
        and "who are excluded" in text
        and "sys" not in text.split()
    )
    with pytest.raises(UnknownNameError, match="'systm'; did you mean 'system'"):
        snapshot.without(["systm"])
    with pytest.raises(InstanceError, match="all users are excluded"):
        snapshot.without([""])
    weighted = fairlp_clusters.report(rest, tmp_path / "weighted.html", weights={"b": 5})
    assert "Not fair: bob is 5 tasks short" in " ".join(Parsed(weighted.read_text("utf-8")).texts)


def test_who_moved_since_an_earlier_dump_and_who_still_waits(tmp_path):
    def of(users, runs, waits):
        cluster = Instance.from_arrays(
            np.ones((len(users), 1)), [[12.0]], users=users, task_limits=np.add(runs, waits)
        )
        return Facts(cluster, np.array(runs, dtype=float)[:, None], np.array(waits, dtype=float))

    # f runs and waits as before, and is short of nothing; g has one task less that waits
    before = of(["a", "b", "c", "f", "g", "old"], [7, 1, 0, 1, 1, 2], [0, 8, 1, 0, 1, 0])
    snapshot = of(["a", "b", "c", "f", "g", "new"], [8, 1, 0, 1, 1, 1], [0, 8, 1, 0, 0, 0])
    page = fairlp_clusters.report(snapshot, tmp_path / "since.html", since=before).read_text(
        "utf-8"
    )
    text = " ".join(Parsed(page).texts)
    assert "2 users run more tasks than before, 1 fewer." in text
    rows = re.search(r'<table id="since-table">.*?</table>', page, re.DOTALL)[0]
    assert re.findall(r'<th scope="row"><bdi>(\w+)</bdi></th>', rows) == [
        "old",
        "a",
        "new",
        "b",
        "c",
        "g",
    ]


HALF = {"cpu": "500m", "memory": "1Gi"}


@pytest.mark.slow
def test_who_waits_for_no_server_and_what_was_not_understood_is_on_the_page(tmp_path, monkeypatch):
    for package in ("matplotlib", "jinja2"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    giant = {"cpu": "64", "memory": "1Gi"}
    items = [
        node("n1"),
        pod("a", on="n1", requests=HALF),
        pod("g1", owner=("Job", "giant"), requests=HALF, nodeSelector={"zone": "nowhere"}),
        pod("h1", owner=("Job", "heavy"), requests=giant),
        pod("odd", on="n1", topologySpreadConstraints=[{"maxSkew": 1}]),
    ]
    (tmp_path / "dump").mkdir()
    dump = written(tmp_path / "dump", *items)
    text = fairlp_clusters.report(fairlp_clusters.snapshot(dump), tmp_path / "page.html").read_text(
        encoding="utf-8"
    )
    assert (
        "Parts of the dump that are left out or not understood" in text
        and "Lines of the dump" in text
    )
    assert "They wait, and no server may take them" in text and "ml/giant" in text
    output = " ".join(run("audit", dump).stdout.split())
    assert "Waiting, but no node may take them" in output
    assert "lines of the dump are left out, not understood or interpreted" in output


def test_names_turn_no_direction_and_end_no_line_of_a_page(tmp_path):
    """ESC, NUL, U+202E and the others have signs; names stand by themselves."""
    controls = "".join(map(chr, [0, 7, 27, 0x7F, 0x85, 0x61C, 0x200F, 0x2028, 0x202E, 0x2066]))
    name = f"a{controls}b"
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1]], [[4, 5]], users=[name, "bob"], servers=[f"s{controls}"], queue=[name, "q"]
    )
    text = fairlp_clusters.report(instance, tmp_path / "page.html").read_text(encoding="utf-8")
    body = text.partition("<body>")[2].partition("<script>")[0]
    assert not set(controls) & set(body)
    assert "<bdi>a␀␇␛\ufffd\ufffd\ufffd\ufffd␤\ufffd\ufffdb</bdi>" in body
