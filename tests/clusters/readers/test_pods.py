"""Pods: quantities of Kubernetes exactly, requests, owners, and the nodes where a pod may be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from dump_files import affinity, read, term
from fairlp_clusters.readers.cluster import EntryError
from fairlp_clusters.readers.pods import amount, owner_of, quantity, unit_of
from kubernetes_dumps import node, pod


def test_numbers_of_json_are_quantities():
    assert quantity(4) == 4 and quantity(0.1) == Fraction(1, 10)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1 Gi",
        "1gi",
        "1KI",
        "1K",
        "--1",
        "1e",
        "1e3Gi",
        "Gi",
        "1,5",
        "0x10",
        "١",
        "1e999999999",
        "9" * 50,
        "inf",
    ],
)
def test_what_is_no_quantity_is_named(text):
    with pytest.raises(EntryError, match="is no quantity; expected"):
        quantity(text)


def test_a_negative_one_is_refused():
    with pytest.raises(EntryError, match="'-1Gi' is negative"):
        quantity("-1Gi")


@pytest.mark.parametrize(
    ("resource", "text", "expected", "unit"),
    [
        ("cpu", "2", 2000, "1/1000 core"),
        ("cpu", "0.1", 100, "1/1000 core"),
        ("cpu", "1.5m", 2, "1/1000 core"),  # rounded up, as Kubernetes does
        ("cpu", "1n", 1, "1/1000 core"),
        ("memory", "64Gi", 65536, "MiB"),
        ("memory", "1", 2**-20, "MiB"),
        ("memory", "1M", 10**6 / 2**20, "MiB"),
        ("memory", "100m", 2**-20, "MiB"),  # a tenth of a byte
        ("ephemeral-storage", "1Gi", 1024, "MiB"),
        ("hugepages-2Mi", "4Mi", 4, "MiB"),
        ("nvidia.com/gpu", "8", 8, ""),
        ("pods", "110", 110, ""),
    ],
)
def test_amounts_in_the_unit_of_their_resource(resource, text, expected, unit):
    assert amount(resource, quantity(text)) == expected and unit_of(resource) == unit


@given(st.integers(0, 2**53 - 1))
def test_bytes_are_kept_to_the_unit(count):
    assert amount("memory", quantity(str(count))) * 2**20 == count


@given(st.integers(0, 10**9), st.sampled_from(["m", "", "k", "M", "Ki", "Mi"]))
def test_a_quantity_is_its_number_times_its_suffix(number, suffix):
    factor = {"m": Fraction(1, 1000), "": 1, "k": 1000, "M": 10**6, "Ki": 1024, "Mi": 1024**2}[
        suffix
    ]
    assert quantity(f"{number}{suffix}") == number * factor


def test_an_owner_without_a_name_owns_nothing():
    nameless, named = {"kind": "Job", "controller": True}, {"kind": "ReplicaSet", "name": "web"}
    assert owner_of({"metadata": {"name": "p", "ownerReferences": [nameless, named]}}) == (
        "ReplicaSet",
        "web",
    )
    assert owner_of({"metadata": {"name": "p", "ownerReferences": [nameless]}}) == ("Pod", "p")


def test_the_controller_comes_before_other_owners():
    other, controller = {"kind": "Job", "name": "j"}, {"kind": "ReplicaSet", "name": "r"}
    for owners in ([other, controller | {"controller": True}], [controller | {"controller": True}]):
        assert owner_of({"metadata": {"ownerReferences": owners}}) == ("ReplicaSet", "r")
    references = [other | {"controller": False}, controller]
    assert owner_of({"metadata": {"ownerReferences": references}}) == ("Job", "j")


def container(cpu, **fields):
    return {"resources": {"requests": {"cpu": cpu}}} | fields


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("1"), container("250m")]}, 1250),
        (
            {"containers": [container("1")], "initContainers": [container("3"), container("2")]},
            3000,
        ),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("500m")],
                "overhead": {"cpu": "100m"},
            },
            1100,
        ),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("1", restartPolicy="Always")],
            },
            2000,
        ),
        # a sidecar runs while the next one starts
        (
            {
                "containers": [container("1")],
                "initContainers": [container("1", restartPolicy="Always"), container("3")],
            },
            4000,
        ),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("3"), container("1", restartPolicy="Always")],
            },
            3000,
        ),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "6"}}}, 6000),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, 1000),
    ],
)
def test_what_a_pod_requests(tmp_path, spec, cpu):
    assert read(tmp_path, node("n1"), pod("a", on="n1", **spec)).instance.demands[0, 0] == cpu


LABELS = [{"zone": "a", "size": "4"}, {"zone": "b", "size": "16"}, {"zone": "c"}, {}]


@pytest.mark.parametrize(
    ("spec", "mask"),
    [
        ({}, "1111"),
        ({"nodeSelector": {"zone": "a"}}, "1000"),
        (affinity(term("zone", "In", "a", "b")), "1100"),
        (affinity(term("zone", "NotIn", "a")), "0111"),
        (affinity(term("zone", "Exists")), "1110"),
        (affinity(term("zone", "DoesNotExist")), "0001"),
        (affinity(term("size", "Gt", "5")), "0100"),
        (affinity(term("size", "Lt", "5")), "1000"),
        (affinity(term("size", "Gt", "4")), "0100"),  # more than 4, not 4
        (affinity(term("size", "Lt", "16")), "1000"),
        (
            affinity(term("zone", "In", "a"), term("zone", "In", "c")),
            "1010",
        ),  # terms are alternatives
        (
            affinity(
                {
                    "matchExpressions": [
                        *term("zone", "Exists")["matchExpressions"],
                        *term("size", "Gt", "5")["matchExpressions"],
                    ]
                }
            ),
            "0100",
        ),
        (affinity(term("metadata.name", "In", "n3", kind="matchFields")), "0001"),
        (affinity(term("zone", "Exists")) | {"nodeSelector": {"zone": "c"}}, "0010"),
        (affinity({}, term("zone", "In", "c")), "0010"),  # an empty term selects nothing
    ],
)
def test_selectors_and_affinity(tmp_path, spec, mask):
    nodes = [node(f"n{k}", labels) for k, labels in enumerate(LABELS)]
    instance = read(tmp_path, *nodes, pod("a", **spec)).instance
    assert "".join(str(int(entry)) for entry in instance.eligible[0]) == mask
    assert instance.server_attributes["zone"].tolist() == ["a", "b", "c", None]


def taint(key, value="", effect="NoSchedule"):
    return {"key": key, "value": value, "effect": effect}


@pytest.mark.parametrize(
    ("tolerations", "mask"),
    [
        ([], "1001"),
        ([{"operator": "Exists"}], "1111"),
        ([{"key": "gpu", "operator": "Exists"}], "1101"),
        ([{"key": "gpu", "value": "yes"}], "1101"),
        ([{"key": "gpu", "value": "no"}], "1001"),
        ([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}], "1001"),
        (
            [
                {
                    "key": "down",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
            ],
            "1011",
        ),
        ([{"key": "", "operator": "Equal", "value": ""}], "1001"),
    ],
)
def test_taints_and_tolerations(tmp_path, tolerations, mask):
    taints = [
        [],
        [taint("gpu", "yes")],
        [taint("down", effect="NoExecute")],
        [taint("soft", effect="PreferNoSchedule")],
    ]
    nodes = [node(f"n{k}", taints=node_taints) for k, node_taints in enumerate(taints)]
    instance = read(tmp_path, *nodes, pod("a", tolerations=tolerations)).instance
    assert "".join(str(int(entry)) for entry in instance.eligible[0]) == mask


@pytest.mark.parametrize("value", ["+-+1", "9" * 5000, "1.5"])
def test_labels_are_compared_as_whole_numbers_only(tmp_path, value):
    line = {"key": "size", "operator": "Gt", "values": [value]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [line]}]}}}  # fmt: skip
    cluster = read(
        tmp_path,
        node("n1", {"size": value}),
        pod("run", on="n1"),
        pod("odd", owner=None, affinity=affinity),
    )
    assert len(cluster.not_understood)


def test_the_schedulers_word_is_of_its_own_condition_of_a_pod_that_it_has_not_placed(tmp_path):
    def waiting(name, *conditions):
        manifest = pod(name, owner=("Job", name))
        manifest["status"]["conditions"] = [
            {"type": kind, "status": status, "message": f"{kind} {status}"}
            for kind, status in conditions
        ]
        return manifest

    ready, refused, placed = ("Ready", "False"), ("PodScheduled", "False"), ("PodScheduled", "True")
    cluster = read(
        tmp_path,
        node("n1"),
        waiting("refused", ready, refused),
        waiting("placed", ready, placed),
        waiting("none"),
    )
    messages = dict(zip(cluster.waiting["user"], cluster.waiting["message"], strict=True))
    assert messages == {"ml/refused": "PodScheduled False", "ml/placed": "", "ml/none": ""}


# Pods of one owner: what their specs have in common is read once.


def containers(requests, name="main", **fields):
    return {"containers": [{"name": name, "resources": {"requests": requests}, **fields}]}


@pytest.mark.parametrize(
    "other",
    [
        containers({"cpu": "2", "memory": "1Gi"}),
        {"overhead": {"cpu": "250m"}},
        {"initContainers": [{"name": "first", "resources": {"requests": {"cpu": "3"}}}]},
        {"nodeSelector": {"disk": "ssd"}},
        {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
        affinity(term("disk", "In", "ssd")),
    ],
)
def test_a_pod_that_differs_from_others_of_its_owner_in_what_counts_is_another_user(
    tmp_path, other
):
    nodes = [
        node("plain"),
        node("ssd", {"disk": "ssd"}),
        node("gpu", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
    ]
    pods = [pod("web-1"), pod("web-2", **other), pod("web-3")]
    together = read(tmp_path / "together", *nodes, *pods).instance
    alone = [read(tmp_path / name, *nodes, pod) for name, pod in zip("abc", pods, strict=True)]
    users = {
        (tuple(demand), tuple(eligible))
        for demand, eligible in zip(
            together.demands.tolist(), together.eligible.tolist(), strict=True
        )
    }
    expected = {
        (tuple(snapshot.instance.demands[0]), tuple(snapshot.instance.eligible[0]))
        for snapshot in alone
    }
    assert users == expected and len(users) == 2
