"""The page, as text: one file, everything in it, bounded in size, hostile names as data."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, examples
from fairlp.errors import FairlpError, FileFormatError, InstanceError, UnknownNameError
from fairlp.operations.reports import charts, sections, subject
from fairlp.operations.reports import facts as prices
from fairlp.operations.reports.facts import (
    Facts,
    costly_properties,
    default_properties,
    findings_in_words,
    is_large,
)
from fairlp.operations.reports.share_comparison import ShareComparison
from fairlp.operations.reports.subject import is_dump, subject_of
from fairlp.operations.reports.what_if import edited
from report_instances import HOSTILE, hostile, queued

for package in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(package)


class Parsed(HTMLParser):
    """Tags with their attributes, and the text of the page outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self._inside = [], [], ""
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
            self.words.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    instance, now = queued()
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert fairlp.report(instance, path, observed=now) == path
    return path.read_text(encoding="utf-8")


SECTIONS = [
    "glance",
    "owed",
    "queues",
    "users",
    "servers",
    "mechanisms",
    "prices",
    "audit",
    "model",
]


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
    charts = [a for tag, a in parsed.tags if a.get("role") == "img"]
    assert len(charts) == 5 and all(len(a["aria-label"]) > 20 for a in charts)
    headers = [a for tag, a in parsed.tags if tag == "th" and a.get("scope") == "col"]
    assert len(headers) > 40 and all(a["aria-sort"] == "none" for a in headers)
    assert (
        sum(tag == "caption" for tag, _ in parsed.tags)
        == sum(tag == "table" for tag, _ in parsed.tags)
        == 8
    )
    assert ("html", {"lang": "en"}) in parsed.tags


def test_the_numbers_are_those_of_the_tables(page):
    instance, now = queued()
    table = fairlp.fair_shares(instance, observed=now, by="queue")
    rows = re.search(r'<table id="queue-table">.*?</table>', page, re.DOTALL)[0]
    values = [float(value or "nan") for value in re.findall(r'data-value="([^"]*)"', rows)]
    found = np.array(values).reshape(len(table), -1)
    names = [
        "users",
        "weight",
        "tasks",
        "fair_tasks",
        "share",
        "fair_share",
        "guarantee",
        "borrowed",
        "waiting",
    ]
    assert np.array_equal(found, table[names].to_numpy(dtype=float), equal_nan=True)
    text = " ".join(Parsed(page).words)
    for part in (
        "not checked",
        "maximize",
        "there is room for them",
        "and of single servers one more of class",
    ):
        assert part in text, part


def test_hostile_names_are_data(tmp_path):
    instance, now = hostile()
    path = fairlp.report(instance, tmp_path / "hostile.html", observed=now)
    text = path.read_text(encoding="utf-8")
    parsed = Parsed(text)
    assert sum(tag == "script" for tag, _ in parsed.tags) == 3
    assert not [a for _, a in parsed.tags if any(name.startswith("on") for name in a)]
    words = "".join(parsed.words)
    assert all(name in words for name in HOSTILE)
    inside = re.search(
        r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL
    )[1]
    assert "<" not in inside
    drawn = json.dumps(json.loads(inside), ensure_ascii=False)
    assert json.dumps(HOSTILE[0])[1:-1] in drawn


def test_names_with_separators_of_lines_do_not_stop_the_pictures(tmp_path):
    """Vega compiles names into expressions, in which U+2028 ends a line: each picture is drawn, without a browser."""
    import vl_convert

    users, queues = ["ann\u2028x", "bob\u2029y"], ["red\u2028q", "blue"]
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 1]],
        [[9, 9]],
        users=users,
        servers=["s\u2028"],
        resources=["cpu\u2028", "mem"],
        queue=queues,
    )
    text = fairlp.report(instance, tmp_path / "page.html", observed=[[1], [2]]).read_text(
        encoding="utf-8"
    )
    inside = re.search(
        r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL
    )[1]
    specs = json.loads(inside)
    assert len(specs) >= 3
    for spec in specs.values():
        assert "<svg" in vl_convert.vegalite_to_svg(
            {**spec, "width": 300} if "facet" not in spec else spec
        )


def test_of_many_only_the_largest_are_shown(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    count = 900
    instance = fairlp.Instance.from_arrays(
        rng.integers(1, 9, (count, 2)).astype(float),
        [[64.0, 256.0], [96.0, 192.0]],
        counts=[3000, 2000],
        users=[f"user {k}" for k in range(count)],
        queue=[f"q{k % 700}" for k in range(count)],
    )
    now = np.zeros((count, 2))
    now[:, 0] = 2
    text = fairlp.report(instance, tmp_path / "many.html", observed=now).read_text(encoding="utf-8")
    assert len(text.encode()) < 5_000_000
    assert "The 200 first of 900 rows; 700 are left out." in text
    assert "The whole table as text (CSV)" in text and "user 899," in text
    assert "… and 660 more" in text
    monkeypatch.setattr(sections, "MOST_CSV", 1000)
    facts = Facts(ShareComparison.of(subject_of(instance, now)), ["drfh"])
    from fairlp.operations.reports.page import page as made

    assert "user 899," not in made(facts)


def test_many_pairs_are_asked_what_is_quick(monkeypatch):
    instance, now = queued()
    assert (
        not is_large(instance)
        and "Pareto-optimal" in default_properties(instance)
        and costly_properties(instance) == []
    )
    monkeypatch.setattr("fairlp.operations.reports.facts.MOST_PAIRS", 3)
    assert "Pareto-optimal" not in default_properties(
        instance
    ) and "leximin (tsf)" in costly_properties(instance)
    assert "caps kept" in default_properties(instance)
    free = instance.replace(queues=None)
    names = [set(Facts(ShareComparison.of(subject_of(free, now)), None).compared)]
    monkeypatch.undo()
    names.append(set(Facts(ShareComparison.of(subject_of(free, now)), None).compared))
    assert {"observed", "drfh", "tsf"} <= names[0] < names[1] and "ceei" in names[1] - names[0]
    assert names[1].isdisjoint(
        {"alpha-fair", "slots", "kueue"}
    )  # not compared by default, and not defined here


def tree_of(waits=True):
    """Each queue beside its siblings; the bar of the largest of them, in use or fair, is whole."""
    table = pd.DataFrame(
        {"share": [0.6, 0.5, 0.1, 0.4, 0.1], "fair_share": [0.8, 0.4, 0.2, 0.2, 0.4], "guarantee": 0.0, "users": 1,
         "waiting": [3, 0, 0, 0, 2], "blocked_by": ["", "cpu", "", "", "cpu"], "owed": [0, 0, 0, 0, 1.0]},
        ["", "a", "a/x", "a/y", "b"],
    )  # fmt: skip
    found = sections.tree_of(table, waits)
    return found, {
        child["name"]: child for node in (found, *found["children"]) for child in node["children"]
    }


def test_bars_of_queues_are_drawn_beside_those_of_their_siblings():
    root, queues = tree_of()
    widths = {name: (node["has_width"], node["due_width"]) for name, node in queues.items()}
    assert (root["name"], root["has_width"], root["due_width"]) == (
        "whole cluster",
        "75.0",
        "100.0",
    )
    assert widths == {
        "a": ("100.0", "80.0"),
        "b": ("20.0", "80.0"),
        "x": ("25.0", "50.0"),
        "y": ("100.0", "50.0"),
    }
    assert root["figures"] == "has 60.0 %, fair 80.0 %, 1 user, 3 tasks wait"
    assert queues["a"]["figures"] == "has 50.0 %, fair 40.0 %, 1 user"
    assert queues["b"]["figures"] == "has 10.0 %, fair 40.0 %, 1 user, 2 tasks wait, stopped by cpu"
    assert tree_of(waits=False)[1]["b"]["figures"] == "fair 40.0 %, 1 user"


@pytest.mark.parametrize(
    ("limit", "most", "shown", "more", "unfolded"),
    [
        ("MOST_QUEUES", 2, {"a"}, {"": 1, "a": 2}, {"a"}),
        ("MOST_CHILDREN", 1, {"a", "x"}, {"": 1, "a": 1, "x": 0}, {"a", "x"}),
        ("MOST_OPEN", 5, {"a", "b", "x", "y"}, {"": 0, "a": 0}, {"a", "b", "x", "y"}),
        ("MOST_OPEN", 4, {"a", "b", "x", "y"}, {"": 0, "a": 0}, set()),
    ],
)
def test_of_many_queues_the_largest_are_shown_and_few_unfolded(
    limit, most, shown, more, unfolded, monkeypatch
):
    monkeypatch.setattr(sections, limit, most)
    root, queues = tree_of()
    assert (
        set(queues) == shown and {name for name, node in queues.items() if node["open"]} == unfolded
    )
    assert (
        root["open"]
        and more.items() <= {"": root["more"], **{n: q["more"] for n, q in queues.items()}}.items()
    )


def test_an_instance_alone_is_reported_by_its_mechanism(tmp_path):
    instance = fairlp.examples.load("wang-figure-1")
    text = fairlp.report(instance, tmp_path / "r.html", "tsf").read_text(encoding="utf-8")
    parsed = Parsed(text)
    sections = [a["id"] for tag, a in parsed.tags if tag == "section"]
    assert sections == [name for name in SECTIONS if name not in ("queues", "owed")]
    assert "What tsf gives to everyone" in text


def test_the_mechanisms_to_compare_can_be_named(tmp_path):
    instance, now = queued()
    facts = Facts(ShareComparison.of(subject_of(instance, now)), ["drfh", "h-drf"])
    assert facts.comparison.index.tolist() == ["observed", "h-drf-counted", "drfh", "h-drf"]
    procedure = Facts(
        ShareComparison.of(subject_of(fairlp.examples.load("ghodsi")), "drfh-first-fit")
    )
    assert procedure.model == "" and procedure.prices is None


def test_charts_are_the_same_in_python(page):
    instance, now = queued()
    found = fairlp.charts(instance, observed=now)
    inside = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1])
    assert {name: chart.to_dict()["description"] for name, chart in found.items()} == {
        name: spec["description"] for name, spec in inside.items()
    }
    assert list(found) == ["who", "queues", "users", "servers", "mechanisms"]
    parts = [row["part"] for rows in found["who"].to_dict()["datasets"].values() for row in rows]
    assert sum(parts) == pytest.approx(len(instance.resources))  # with what is free, all of each
    assert list(fairlp.charts(fairlp.examples.load("wang-figure-1"))) == [
        "users",
        "servers",
        "mechanisms",
    ]


def test_queues_are_drawn_at_the_first_level_that_has_several():
    instance, now = queued()
    deep = instance.replace(queue=[f"all/{path}" for path in instance.queue], queues={})
    spec = fairlp.charts(deep, observed=now)["who"].to_dict()
    assert "level 2" in spec["description"]
    assert {row["queue"] for rows in spec["datasets"].values() for row in rows} == {
        "all/org",
        "all/lab",
        "not in use",
    }


def test_the_dearest_price_is_what_more_of_it_adds():
    instance = fairlp.Instance.from_arrays(
        [[1.0, 1.0], [1.0, 2.0]], [[9.0, 100.0]], resources=["cpu", "memory"]
    )
    prices = Facts(
        ShareComparison.of(subject_of(instance), "drf")
    ).prices  # found without prices, so once more by programs
    assert prices[["resource"]].to_numpy().tolist() == [["cpu"]]
    one = fairlp.allocate(instance, "drf").levels.min()
    more = fairlp.allocate(instance.replace(capacities=[[9.09, 100.0]]), "drf")
    gained = (more.totals / fairlp.allocate(instance, "drf").totals - 1).min()
    assert prices["price"][0] * 0.09 == pytest.approx(gained * one) and prices["price"][
        0
    ] == pytest.approx(one / 9)
    assert prices[["worth", "server"]].to_numpy().tolist() == [[1.0, 1.0]]


def test_what_capacity_is_worth_is_shared_by_classes():
    """One resource: a unit is worth the same everywhere, so classes are worth what they have."""
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0]], [[4.0], [10.0]], servers=["s", "t"], counts=[5, 1]
    )
    prices = Facts(ShareComparison.of(subject_of(instance), "drfh")).prices
    assert prices["class"].tolist() == ["4 resource1", "10 resource1"]
    assert prices["worth"].tolist() == pytest.approx([20 / 30, 10 / 30])
    assert prices["server"].tolist() == pytest.approx([4 / 30, 10 / 30])
    assert len(set(prices["price"])) == 1


def test_answers_in_three_words():
    witnesses = [
        "",
        "",
        "vacuous: there are 2 resources",
        "no lie that pays was found in 9 tries, which proves nothing",
    ]
    names = ["envy-free", "feasible", "single-resource", "strategy-proof"]
    shown, others = findings_in_words(
        pd.DataFrame({"holds": [True, False, None, None], "witness": witnesses}, index=names)
    )
    assert shown["holds"].to_dict() == {
        "envy-free": "kept",
        "feasible": "broken",
        "strategy-proof": "not checked",
    }
    assert others.startswith("not about such an instance: single-resource (")
    assert (
        findings_in_words(pd.DataFrame({"holds": [True], "witness": [""]}, index=["feasible"]))[1]
        == ""
    )


@pytest.mark.parametrize("package", ["altair", "jinja2", "vl_convert"])
def test_without_its_packages_the_error_names_the_extra(monkeypatch, tmp_path, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        charts.ReportNotAvailableError, match=rf'{package}.*pip install "fairlp\[report\]"'
    ) as error:
        fairlp.report(fairlp.examples.load("ghodsi"), tmp_path / "r.html")
    assert isinstance(error.value, FairlpError) and isinstance(error.value, ImportError)
    assert not (tmp_path / "r.html").exists()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises((FileFormatError, OSError)):
        fairlp.report(fairlp.examples.load("ghodsi"), tmp_path / "none" / "r.html")


def at_the_edge():
    """Clusters of which there is little to say, by name: instance, what runs, mechanism."""
    make = fairlp.Instance.from_arrays
    two = [[1.0], [2.0]]
    return {
        "nobody has a task": (make(two, [[4.0]], task_limits=[0, 0]), None, None),
        "nothing runs": (make(two, [[4.0]], queue=["a", "a"]), [[0], [0]], None),
        "all stand in the root": (make(two, [[4.0]], queue=[None, None]), [[1], [1]], None),
        "labels are numbers": (
            make(two, [[4.0]], users=[1, 2], servers=[7], resources=["cpu"]),
            [[1], [1]],
            None,
        ),
        "more runs than fits": (make(two, [[4.0]]), [[9], [3]], None),
        "rates are given": (make([[1.0, 1.0]], [[4.0, 4.0]], rates=[[2.0]]), [[1]], None),
        "users arrive": (fairlp.examples.load("ghodsi"), None, "dynamic-drf"),
    }


@pytest.mark.parametrize("name", at_the_edge())
def test_of_little_there_is_a_page_too(name, tmp_path):
    instance, now, mechanism = at_the_edge()[name]
    text = fairlp.report(instance, tmp_path / "r.html", mechanism, observed=now).read_text(
        encoding="utf-8"
    )
    assert {"glance", "users", "servers", "mechanisms", "prices", "audit", "model"} <= {
        a.get("id") for tag, a in Parsed(text).tags if tag == "section"
    }


def test_names_of_any_length_fit(tmp_path):
    long = ["x" * 20_000, "y" * 20_000]
    instance = fairlp.Instance.from_arrays([[1.0], [2.0]], [[4.0]], users=long, queue=long)
    text = fairlp.report(instance, tmp_path / "r.html", observed=[[1], [1]]).read_text(
        encoding="utf-8"
    )
    assert len(text) < 2_000_000 and "x" * 400 + "…" in text


# Pages of instances with nothing to buy, trees too large to show, and solvers that fail at the
# ends.


def satisfied():
    """Two users that have all their tasks on a server that is half empty."""
    return Instance.from_arrays([[1.0], [1.0]], [[8.0]], task_limits=[2.0, 2.0], queue=["a/x", "b"])


def facts(**more):
    one = dataclasses.replace(subject_of(satisfied(), np.array([[2.0], [2.0]])), **more)
    return Facts(ShareComparison.of(one, "drfh"))


def test_nothing_is_worth_buying_where_everybody_has_all_its_tasks():
    comparison = facts().share_comparison
    fair = dataclasses.replace(comparison.fair, prices_array=np.zeros((1, 1)))
    found = sections._prices(Facts(dataclasses.replace(comparison, fair=fair)))
    assert found.paragraphs == [sections._NO_PRICE] and not found.tables


def test_who_waits_for_no_server_is_told_where_all_lines_are_understood():
    homeless = pd.DataFrame({"user": ["zoe"], "queue": ["q"], "tasks": [3]})
    found = sections._reading(facts(homeless=homeless))
    assert [table.id for table in found.tables] == ["homeless-table"]
    assert found.tables[0].rows == [["zoe", "q", 3]]


def test_lines_that_were_not_understood_are_told_where_everybody_has_a_server():
    odd = pd.DataFrame(
        {"file": ["nodes.json"], "where": ["node 'n1'"], "what": ["no name"], "done": ["left out"]}
    )
    found = sections._reading(facts(not_understood=odd))
    assert [table.id for table in found.tables] == ["note-table"]
    assert found.tables[0].rows == [["nodes.json", "node 'n1'", "no name", "left out"]]


def test_of_a_tree_that_is_too_large_the_rest_is_counted(monkeypatch):
    queues = ShareComparison.of(subject_of(satisfied(), np.array([[2.0], [2.0]])), "drfh").queues
    monkeypatch.setattr(sections, "MOST_QUEUES", 1)
    found = sections.tree_of(queues, False)
    assert found["name"] == "whole cluster" and found["more"] == 2 and not found["children"]


def test_a_folder_of_tables_is_no_dump_even_beside_one(tmp_path):
    (tmp_path / "dump.json").write_text(json.dumps({"nodes": {"node": []}}), encoding="utf-8")
    assert is_dump(tmp_path)
    for name in ("users.csv", "servers.csv"):
        (tmp_path / name).write_text("user,cpu\n", encoding="utf-8")
    assert not is_dump(tmp_path)


def test_an_instance_for_which_nothing_is_defined_is_told(monkeypatch):
    assert (
        subject.mechanism_or_default(satisfied(), None)
        and subject.mechanism_or_default(satisfied(), "tsf") == "tsf"
    )
    monkeypatch.setattr(subject, "TABLE", {})
    with pytest.raises(InstanceError, match="no mechanism is defined for this instance"):
        subject.mechanism_or_default(satisfied(), None)


# Names that are long or the same, edits that meet what is there, subjects that are none.


def servers(names):
    attributes = pd.DataFrame({"kind": names}, index=[f"s{k}" for k in range(len(names))])
    capacities = [[float(4 + k)] for k in range(len(names))]
    return Instance.from_arrays(
        [[1.0]], capacities, servers=list(attributes.index), server_attributes=attributes
    )


def test_names_of_classes_are_short_and_told_apart():
    found = list(subject.Classes.among(servers(["x" * 300, "same", "same"])).names)
    assert len(found[0]) < 100 and found[0].endswith("…")
    assert len(set(found)) == 3 and found[1].startswith("same") and found[2].startswith("same")
    nearly = servers(["same", "same", "other"]).derived(
        capacities=np.array([[4.0], [4.0 + 1e-9], [9.0]])
    )
    found = subject.Classes.among(nearly).names
    assert len(set(found)) == 3 and any(name.endswith(" #2") for name in found)


def test_what_is_no_dump(tmp_path):
    assert not is_dump(str(tmp_path))
    (tmp_path / "odd.json").write_bytes(b"\xff\xfe{")
    assert (
        not is_dump(str(tmp_path / "odd.json"))
        and not is_dump("")
        and not is_dump(str(tmp_path / "none"))
    )


def test_a_cluster_without_queues_has_no_table_of_them():
    with pytest.raises(TypeError, match="no queues"):
        ShareComparison.of(subject_of(examples.ghodsi(), np.array([[1.0], [1.0]]))).queues  # noqa: B018


def test_an_answer_of_a_mechanism_that_is_gone_has_no_prices():
    found = fairlp.allocate(examples.wang_figure_1(), "drfh")
    gone = dataclasses.replace(found, mechanism="gone", prices_array=None)
    assert prices.next_to_buy(gone, subject.Classes.among(gone.instance)) is None
    assert prices.next_to_buy(found, subject.Classes.among(found.instance)) is not None


def two():
    return Instance.from_arrays(
        [[1.0], [2.0]], [[12.0]], users=["x", "a (new)"], queue=["a", "b"], resources=["cpu"]
    )


def test_new_users_are_told_apart_from_those_there():
    users = list(edited(two(), None, None, {"a": {"like": "x"}}).users)
    assert len(set(users)) == 3 and users[:2] == ["x", "a (new)"] and users[2].startswith("a (new")


def test_nobody_is_like_an_empty_queue():
    empty = two().replace(queues={"a": 1, "b": 1, "c": 1})
    with pytest.raises(UnknownNameError, match="like='c' is no user and no queue with users"):
        edited(empty, None, None, {"d": {"like": "c"}})


def test_given_rates_say_nothing_of_users_that_are_new():
    rated = Instance.from_arrays(
        [[1.0], [2.0]], [[12.0]], rates=[[3.0], [4.0]], users=["x", "y"], queue=["a", "b"]
    )
    with pytest.raises(
        InstanceError, match="the instance has rates, and new users would have none"
    ):
        edited(rated, None, None, {"c": {"like": "x"}})


def test_excluded_queues_use_but_are_owed_nothing(tmp_path):
    """The system has 10 of 16 CPUs; of the rest each of two queues may have 3."""
    cluster = Instance.from_arrays(
        np.ones((3, 1)),
        [[16.0]],
        users=["sys", "ann", "bob"],
        queue=["system/core", "a", "b"],
        task_limits=[20, 9, 9],
    )
    now = subject.Subject(
        cluster, np.array([[10.0], [6.0], [0.0]]), np.array([10.0, 3.0, 9.0]), scheduler="slurm"
    )
    left = now.without(["system"])
    assert list(left.instance.users) == ["ann", "bob"] and left.instance.pool.tolist() == [6]
    assert left.excluded.to_dict() == {"resource1": 10.0} and left.without([]) is left
    path = fairlp.report(now, tmp_path / "page.html", exclude=["system"])
    text = " ".join(Parsed(path.read_text("utf-8")).words)
    assert (
        "Not fair: bob is 3 tasks short" in text
        and "who are excluded" in text
        and "sys" not in text.split()
    )
    with pytest.raises(UnknownNameError, match="'systm'; did you mean 'system'"):
        now.without(["systm"])
    with pytest.raises(InstanceError, match="all users are excluded"):
        now.without([""])
    weighted = fairlp.report(left, tmp_path / "weighted.html", weights={"b": 5})
    assert "Not fair: bob is 5 tasks short" in " ".join(Parsed(weighted.read_text("utf-8")).words)


def test_who_moved_since_an_earlier_dump_and_who_still_waits(tmp_path):
    def of(users, runs, waits):
        cluster = Instance.from_arrays(
            np.ones((len(users), 1)), [[12.0]], users=users, task_limits=np.add(runs, waits)
        )
        return subject.Subject(
            cluster, np.array(runs, dtype=float)[:, None], np.array(waits, dtype=float)
        )

    # f runs and waits as before, and is short of nothing; g has one task less that waits
    before = of(["a", "b", "c", "f", "g", "old"], [7, 1, 0, 1, 1, 2], [0, 8, 1, 0, 1, 0])
    now = of(["a", "b", "c", "f", "g", "new"], [8, 1, 0, 1, 1, 1], [0, 8, 1, 0, 0, 0])
    page = fairlp.report(now, tmp_path / "since.html", since=before).read_text("utf-8")
    text = " ".join(Parsed(page).words)
    assert "2 users run more tasks than before, 1 fewer." in text
    cards = {
        name: (value, unit)
        for name, value, unit in sections.sections(Facts(ShareComparison.of(now)))[0].cards
    }
    assert cards["tasks that wait"] == ("9", "of 2 users") and cards["below fair"] == ("2", "users")
    assert (
        "Waiting before and now, and short of their fair share by so many tasks: b (3), c (1)."
        in text
    )
    rows = re.search(r'<table id="since-table">.*?</table>', page, re.DOTALL)[0]
    assert re.findall(r'<th scope="row">(\w+)</th>', rows) == ["old", "a", "new", "b", "c", "g"]
