"""Lines of dumps that are rare: each is understood, or named with what became of it."""

from __future__ import annotations

import pytest

import fairlp
from cli_runner import run
from kubernetes_dumps import kueue, node, pod, thing, volcano, written

HALF = {"cpu": "500m", "memory": "1Gi"}


def notes(found):
    return " | ".join(" ".join(map(str, row)) for row in found.not_understood.itertuples(index=False))


def snapshot(folder, *items):
    return fairlp.snapshot(written(folder, *items))


def affinity(*expressions, **more):
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms, **more}}


def test_wishes_are_left_out_and_said(tmp_path):
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", affinity={"nodeAffinity": wish}))
    assert "a wish, and no rule" in notes(found) and found.instance.eligible.all()


def test_a_line_of_affinity_that_is_none_is_left_out(tmp_path):
    odd = affinity(
        {"key": "zone", "operator": "Near", "values": ["a"]}, {"key": "zone", "operator": "Gt", "values": []}
    )
    found = snapshot(tmp_path, node("n1", {"zone": "a"}), pod("a", on="n1", affinity=odd))
    assert "operator 'Near'" in notes(found) and "operator 'Gt'" in notes(found)


def test_what_is_left_empty_asks_for_nothing(tmp_path):
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", topologySpreadConstraints=[]))
    assert "topologySpreadConstraints" not in notes(found)
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", topologySpreadConstraints=[{"maxSkew": 1}]))
    assert "topologySpreadConstraints" in notes(found)


def test_a_taint_without_a_key_closes_no_node_unnoticed(tmp_path):
    found = snapshot(tmp_path, node("n1", taints=[{"effect": "NoSchedule"}]), node("n2"), pod("a", on="n2"))
    assert "a taint has no key" in notes(found) and "n1" not in list(map(str, found.instance.servers))


def test_a_node_that_is_ready_is_open(tmp_path):
    ready, lost = [{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "Unknown"}]
    pressed = [{"type": "DiskPressure", "status": "False"}, *ready]
    items = [node("n1", conditions=pressed), node("n2", conditions=lost), pod("a", on="n1")]
    assert snapshot(tmp_path, *items).instance.n_servers == 1


def test_a_local_queue_of_no_cluster_queue(tmp_path):
    queue = kueue("LocalQueue", "lost", {"clusterQueue": ""}, namespace="ml")
    assert "it names no ClusterQueue" in notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue))


def test_a_flavor_of_all_nodes_needs_no_word(tmp_path):
    every, some = kueue("ResourceFlavor", "every", {}), kueue("ResourceFlavor", "some", {"nodeLabels": {"zone": "a"}})
    said = notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), every, some))
    assert "'some'" in said and "'every'" not in said


def test_a_quota_of_pods_by_count(tmp_path):
    quota = thing("ResourceQuota", "q", {"hard": {"count/pods": "7", "count/secrets": "3"}}, namespace="ml")
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1", requests=HALF), quota)
    assert "count/secrets" in notes(found) and "count/pods" not in notes(found)
    named = [path for path in found.instance.queues.paths if "ml" in path]
    caps = found.instance.queues.table(found.instance.resources)
    assert named and 7.0 in caps.loc[named[0]].tolist()


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (volcano("dev", {"weight": -2}), "its weight is -2"),
        (volcano("dev", {"weight": 1}, hierarchy="root/a", hierarchy_weights="1/much"), "each weight is taken as 1"),
        (volcano("dev", {"weight": 1}, hierarchy="root//a", hierarchy_weights="1/2/3"), "has an empty name"),
    ],
)
def test_queues_of_volcano_that_are_odd(tmp_path, queue, words):
    assert words in notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue))


def test_two_queues_of_volcano_at_one_place(tmp_path):
    twins = [
        volcano(name, {"weight": 1, "capability": {"cpu": cpu}}, hierarchy="root/a", hierarchy_weights="1/2")
        for name, cpu in (("one", 4), ("two", 6))
    ]
    assert "an earlier queue stands at" in notes(snapshot(tmp_path, node("n1"), pod("a", on="n1"), *twins))


def test_a_guarantee_above_a_cap_is_lowered(tmp_path):
    queue = volcano("dev", {"weight": 1, "capability": {"cpu": 2}, "guarantee": {"resource": {"cpu": 5}}})
    found = snapshot(tmp_path, node("n1"), pod("a", on="n1"), queue)
    assert "above its cap, 2" in notes(found) and "lowered to the cap" in notes(found)


def test_an_empty_object_in_json(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(fairlp.FairlpError, match=r"empty\.json"):
        fairlp.snapshot(path)


def test_who_waits_for_no_server_and_what_was_not_understood_is_on_the_page(tmp_path, monkeypatch):
    for package in ("altair", "jinja2", "vl_convert"):
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
    text = fairlp.report(fairlp.snapshot(dump), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What was left out or not understood" in text and "Lines of the dump" in text
    assert "They wait, and no server may take them" in text and "ml/giant" in text
    said = " ".join(run("audit", dump).stdout.split())
    assert "more tasks wait of 1 users whom no server may take" in said
    assert "lines of the dump were not understood, or read in a way of our own" in said
