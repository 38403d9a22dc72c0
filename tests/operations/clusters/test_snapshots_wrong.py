"""Dumps that are wrong: an error for what cannot be read, a line for everything else, and nothing lost."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairlp
from fairlp.errors import FileFormatError, InstanceError, TooLargeError, UnknownNameError
from fairlp.operations.clusters import assembly
from kubernetes_dumps import node, pod, said, thing, written
from profiles import many


def read(folder, *items, **options):
    return fairlp.snapshot(written(folder, *items), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (
            '{"apiVersion": "v1", "items": [',
            r"line 1, column 32: Expecting value; is the file cut off",
        ),
        (
            '{"apiVersion": "v1", "items": [{"kind": "Node"}',
            r"line 1, column 48: Expecting ',' or ']'",
        ),
        ('{"apiVersion": "v1" "items": []}', r"Expecting ',' or '}'"),
        ('{"apiVersion": "v1", 3: 4}', "Expecting '\"'"),
        ('{"apiVersion" "v1"}', "Expecting ':'"),
        ('{"apiVersion": "v1", "items": [{"a": 1, "a": 2}]}', "key 'a' occurs twice"),
        ('{"apiVersion": "v1", "apiVersion": "v2"}', "key 'apiVersion' occurs twice"),
        ('{"apiVersion": "v1", "items": [NaN]}', "NaN is not JSON"),
        ('{"apiVersion": "v1", "items": [' + "[" * 100_000, "nested too deeply"),
        ('{"apiVersion": "v1", "kind": "List"} x', "Expecting a mapping or a list"),
        ("apiVersion: v1\n", "is not JSON; print it with kubectl get … -o json"),
        ("caf\xe9", "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(tmp_path, text, message):
    path = tmp_path / "dump.json"
    path.write_bytes(text.encode("latin-1" if "\xe9" in text else "utf-8"))
    with pytest.raises(FileFormatError, match=message):
        fairlp.snapshot(path, "kubernetes")


def test_a_number_of_thousands_of_digits_is_no_node(tmp_path):
    path = tmp_path / "dump.json"
    path.write_text('{"apiVersion": "v1", "items": [1' + "0" * 5000 + "]}")
    with pytest.raises(InstanceError, match="the dump has no nodes"):
        fairlp.snapshot(path, "kubernetes")


@pytest.mark.parametrize("text", ["apiVersion: v1\nitems: []\n", "---\napiVersion: v1\n"])
def test_yaml_is_told_what_to_print_instead(tmp_path, text):
    (tmp_path / "dump.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match="is not JSON; print it with kubectl get … -o json"):
        fairlp.snapshot(tmp_path)


def test_a_dump_cut_off_anywhere_is_refused(tmp_path):
    content = (written(tmp_path, node("n1"), pod("a", on="n1")) / "dump.json").read_bytes()
    for size in range(0, len(content) - 1, 7):
        (tmp_path / "dump.json").write_bytes(content[:size])
        with pytest.raises(FileFormatError):
            fairlp.snapshot(tmp_path)


def test_what_is_asked_for_is_checked(tmp_path):
    written(tmp_path, node("n1"), pod("a", on="n1"))
    with pytest.raises(
        UnknownNameError, match=r"scheduler='kubernets' is not known; did you mean 'kubernetes'"
    ):
        fairlp.snapshot(tmp_path, "kubernets")
    with pytest.raises(UnknownNameError, match=r"capacity='fre' is not known; did you mean 'free'"):
        fairlp.snapshot(tmp_path, capacity="fre")
    with pytest.raises(UnknownNameError, match="by='user' is not known"):
        fairlp.snapshot(tmp_path, by="user")
    with pytest.raises(FileFormatError, match=r"no file .*; did you mean 'dump.json'"):
        fairlp.snapshot(tmp_path / "dmp.json")


def test_a_folder_is_of_one_scheduler_and_what_else_is_in_it_is_told(tmp_path):
    with pytest.raises(FileFormatError, match="has no files"):
        fairlp.snapshot(tmp_path)
    (tmp_path / "notes.json").write_text('{"hello": 1}', encoding="utf-8")
    with pytest.raises(
        FileFormatError,
        match="is of no scheduler that is known; expected a dump of one of kubernetes",
    ):
        fairlp.snapshot(tmp_path)
    found = read(tmp_path, node("n1"), pod("a", on="n1"))
    assert found.not_understood.to_dict("records") == [
        {
            "file": "notes.json",
            "where": "the file",
            "what": "it is of no scheduler that is known",
            "done": "left out",
        }
    ]
    (tmp_path / "yarn.json").write_text('{"apps": {"app": []}}', encoding="utf-8")
    with pytest.raises(
        FileFormatError, match=r"is of kubernetes and yarn; expected .*scheduler=… says which"
    ):
        fairlp.snapshot(tmp_path)
    assert said(fairlp.snapshot(tmp_path, "kubernetes"), "it is of yarn") == [
        ("the file", "left out")
    ]


@pytest.mark.parametrize(
    "items",
    [[], [node("n1")], [pod("a", on="n1")], [pod("a")], [node("n1"), pod("a", phase="Failed")]],
)
def test_a_dump_without_nodes_or_tasks_is_no_problem_to_share(tmp_path, items):
    with pytest.raises(
        InstanceError, match=r"the dump has no nodes|nothing runs and nothing waits"
    ):
        read(tmp_path, *items, scheduler="kubernetes")


LINES = [
    (thing("ConfigMap", "c", {}), "objects of kind 'ConfigMap' (v1) are not read", "ConfigMap 'c'"),
    (thing("Queue", "q", {}, "other.io/v1"), "objects of kind 'Queue' (other.io/v1) are not read", "Queue 'q'"),
    ([1], "it is a list; expected a mapping", "an entry of items"),
    ({"kind": 5}, "kind is 5; expected text", "an entry of items"),
    (node("n1"), "an earlier node has this name", "node 'n1'"),
    (node("") | {}, "it has no name", "Node ''"),
    (node("bad", allocatable={"cpu": "many"}), "'many' is no quantity", "Node 'bad'"),
    (node("bad", allocatable={"cpu": "-1"}), "'-1' is negative", "Node 'bad'"),
    (node("bad", taints="x"), "taints is 'x'; expected a list", "Node 'bad'"),
    (node("bad", unschedulable="yes"), "spec.unschedulable is 'yes'", "Node 'bad'"),
    (pod("run", on="n1"), "an earlier pod has this name", "pod 'ml/run'"),
    (pod("odd", on="n9"), "it runs on 'n9', a node that is not in the dump", "pod 'ml/odd'"),
    (pod("odd", phase="Succeeded"), "it has finished (Succeeded)", "pod 'ml/odd'"),
    (pod("odd", requests={}), "it requests nothing", "pod 'ml/odd'"),
    (pod("odd", requests={"cpu": "1x"}), "'1x' is no quantity", "Pod 'odd'"),
    (pod("odd", containers={}), "containers is a mapping; expected a list", "Pod 'odd'"),
    (pod("odd", tomorrow=1), "unknown field spec.tomorrow", "pod 'ml/odd'"),
    (pod("odd", topologySpreadConstraints=[{}]), "spec.topologySpreadConstraints", "pod 'ml/odd'"),
    (pod("odd", priorityClassName="high"), "spec.priorityClassName", "pod 'ml/odd'"),
    (pod("odd", affinity={"podAntiAffinity": {"x": 1}}), "affinity.podAntiAffinity", "pod 'ml/odd'"),
    (pod("odd", requests={"foo": "1", "cpu": "1"}), "it is asked for, but no node has it", "resource 'foo'"),
    (pod("odd", owner=("Job", "odd"), nodeSelector={"z": "m"}), "no node may take its tasks", "user 'ml/odd'"),
    (pod("odd", on="n1", requests={"cpu": "100"}), "of 'cpu' are in use, of 8000", "node 'n1'"),
]  # fmt: skip


@pytest.mark.parametrize(("item", "what", "where"), LINES, ids=[what for _, what, _ in LINES])
def test_everything_else_is_one_clear_line(tmp_path, item, what, where):
    found = read(tmp_path, node("n1"), pod("run", on="n1"), item)
    assert [place for place, _ in said(found, what)] == [where]
    assert found.observed.totals["ml/web"] >= 1


def test_overcommitment_is_kept_and_told(tmp_path):
    heavy = [pod(f"a{k}", on="n1", requests={"cpu": "3"}) for k in range(3)]
    found = read(tmp_path, node("n1"), *heavy, pod("b", "x", requests={"memory": "1Gi"}))
    assert found.observed.usage.loc["n1", "cpu"] == 9000
    assert (
        said(found, "9000 of 'cpu' are in use, of 8000")[0][1]
        == "observed all the same; nothing of it is free"
    )
    assert not fairlp.audit(found.instance, found.observed, ["feasible"])["holds"].item()
    free = fairlp.snapshot(tmp_path, capacity="free")
    assert list(free.instance.resources) == ["memory", "pods"] and list(free.instance.users) == [
        "x/web"
    ]
    assert said(free, "nothing of it is free") == [
        ("resource 'cpu'", "left out, with the users who need it")
    ]


def test_overcommitment_of_a_cordoned_node_is_told_too(tmp_path):
    found = read(
        tmp_path,
        node("n1"),
        node("n2", unschedulable=True),
        pod("a", on="n2", requests={"cpu": "9"}),
    )
    assert [place for place, _ in said(found, "9000 of 'cpu' are in use, of 8000")] == ["node 'n2'"]
    assert found.instance.capacities[1, 0] == 9000 and found.observed.residual == 0


def test_a_packed_dump_is_read_and_a_damaged_one_refused(tmp_path):
    content = (written(tmp_path, node("n1"), pod("a", on="n1")) / "dump.json").read_bytes()
    packed = tmp_path / "dump.json.gz"
    packed.write_bytes(gzip.compress(content))
    assert fairlp.snapshot(packed).observed.totals.to_dict() == {"ml/web": 1}
    packed.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(FileFormatError, match="is not a whole gzip file"):
        fairlp.snapshot(packed)


def test_nothing_free_is_an_error(tmp_path):
    with pytest.raises(InstanceError, match="nothing is free that any task asks for"):
        read(tmp_path, node("n1"), pod("a", on="n1", requests={"cpu": "8"}), capacity="free")


def test_those_who_fit_nowhere_are_still_told_to_wait(tmp_path):
    found = read(
        tmp_path, node("n1"), pod("a", on="n1"), pod("b", "x", nodeSelector={"zone": "moon"})
    )
    assert list(found.instance.users) == ["ml/web"] and found.waiting["user"].tolist() == ["x/web"]


def test_many_lines_that_say_the_same_are_counted(tmp_path):
    found = read(tmp_path, node("n1"), *[pod(f"p{k}", on="n1", requests={}) for k in range(100)])
    lines = said(found, "it requests nothing")
    assert len(lines) == 21 and lines[-1][0] == "… and 80 more"
    assert found.observed.totals.to_dict() == {"ml/web": 100}


def test_too_many_users_and_nodes_are_refused_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(assembly, "MOST_BYTES", 100)
    items = [node(f"n{k}") for k in range(4)] + [
        pod(f"p{k}", owner=("Job", f"p{k}")) for k in range(4)
    ]
    with pytest.raises(
        TooLargeError, match=r"4 users .* on 4 nodes take tables of .* \(by='queue' makes one"
    ):
        read(tmp_path, *items)
    assert len(fairlp.snapshot(tmp_path, by="queue").instance.users) == 1


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    written(tmp_path, node("n1"), pod("a", on="n1"))
    monkeypatch.setattr("fairlp.models.files.whole_files.MOST_BYTES", 100)
    with pytest.raises(FileFormatError, match="which is the most that is read"):
        fairlp.snapshot(tmp_path)


@st.composite
def dumps(draw):
    """Pods of a few owners and shapes, some on nodes."""
    shapes = [
        {"cpu": "100m", "memory": "1Gi"},
        {"cpu": "0.1", "memory": "7M"},
        {"cpu": "3"},
        {"memory": "12345"},
    ]
    entry = st.tuples(
        st.sampled_from(["x", "y"]),
        st.sampled_from("abc"),
        st.sampled_from(shapes),
        st.sampled_from([None, "n1", "n2"]),
    )
    return [
        pod(f"p{k}", namespace, ("Job", owner), on, requests)
        for k, (namespace, owner, requests, on) in enumerate(
            draw(st.lists(entry, min_size=1, max_size=30))
        )
    ]


BYTES = {"1Gi": 2**30, "7M": 7 * 10**6, "12345": 12345}
MILLI = {"100m": 100, "0.1": 100, "3": 3000}


@settings(max_examples=many(60), deadline=None)
@given(dumps())
def test_what_is_observed_is_the_sum_over_pods(tmp_path_factory, pods):
    found = read(tmp_path_factory.mktemp("sum"), node("n1"), node("n2"), *pods)
    used = {(n, r): 0 for n in ("n1", "n2") for r in ("cpu", "memory", "pods")}
    for one in pods:
        on = one["spec"].get("nodeName")
        if on:
            requests = one["spec"]["containers"][0]["resources"]["requests"]
            used[on, "cpu"] += MILLI[requests.get("cpu", "100m")] * ("cpu" in requests)
            used[on, "memory"] += BYTES[requests.get("memory", "1Gi")] * ("memory" in requests)
            used[on, "pods"] += 1
    usage = found.observed.usage
    for (n, r), amount in used.items():
        if r in usage.columns:
            assert usage.loc[n, r] * (2**20 if r == "memory" else 1) == amount
        else:
            assert amount == 0
    waiting = sum("nodeName" not in one["spec"] for one in pods)
    assert found.waiting["tasks"].sum() == waiting
    assert found.instance.task_limits.sum() == len(pods)
    told = found.not_understood[
        "what"
    ]  # all that there is to tell: too much in use, and memory that nobody asks for
    assert (
        told.str.contains("are in use, of") | (told == "nodes have it, but no task asks for it")
    ).all()


def test_the_kind_of_a_list_may_stand_behind_its_entries(tmp_path):
    for name, kind, items in (
        ("nodes", "NodeList", [node("n1")]),
        ("pods", "PodList", [pod("a", on="n1"), pod("b")]),
    ):
        entries = [
            {key: value for key, value in one.items() if key not in ("kind", "apiVersion")}
            for one in items
        ]
        document = {"apiVersion": "v1", "items": entries, "kind": kind}
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    found = fairlp.snapshot(tmp_path)
    assert list(found.instance.servers) == ["n1"] and found.not_understood.empty
    assert len(found.instance.users) == 1 and found.instance.task_limits.tolist() == [2]


@pytest.mark.parametrize("value", ["+-+1", "9" * 5000, "1.5"])
def test_labels_are_compared_as_whole_numbers_only(tmp_path, value):
    line = {"key": "size", "operator": "Gt", "values": [value]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [line]}]}}}  # fmt: skip
    found = read(
        tmp_path,
        node("n1", {"size": value}),
        pod("run", on="n1"),
        pod("odd", owner=None, affinity=affinity),
    )
    assert len(found.not_understood)
