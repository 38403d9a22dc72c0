"""Nodes to come: what the Kubernetes cluster autoscaler says that it may add, and Karpenter's pools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .cluster import (
    EntryError,
    Node,
    Notes,
    Record,
    Texts,
    count_at,
    list_at,
    mapping_at,
    text_at,
    value_at,
    yaml_at,
)
from .pods import (
    POOL_MAY_ADD,
    AnyOf,
    Place,
    Pod,
    Taints,
    bears,
    fulfils,
    name_of,
    taints_of,
)

#: The ConfigMap of the cluster autoscaler, and its key.
CONFIG_MAP = "cluster-autoscaler-status"
_KEY = "status"
#: Labels by which clouds and tools say of which group a node is.
_GROUP_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "kops.k8s.io/instancegroup",
    "node.kubernetes.io/nodegroup",
)
#: Karpenter's label of a node that names its pool.
_POOL_LABEL = "karpenter.sh/nodepool"
#: So many nodes of one group are counted at most.
_MOST_NODES = 5000


class NodeGroup(NamedTuple):
    """A group of equal nodes: how many it is to have now, and how many it may have."""

    name: str
    target: int
    most: int


def groups_of(manifest: Record) -> list[NodeGroup]:
    """Return the groups of nodes of the autoscaler's ConfigMap."""
    text = text_at(manifest, "data", _KEY)
    status = yaml_at(text, _KEY)
    groups = []
    if text.strip() and value_at(status, "nodeGroups", kind=list) is None:
        raise EntryError("its status has no nodeGroups, as the autoscaler has since version 1.30")
    for entry in list_at(status, "nodeGroups"):
        health = mapping_at(entry, "health")
        groups.append(
            NodeGroup(
                text_at(entry, "name"),
                count_at(health, "cloudProviderTarget"),
                count_at(health, "maxSize"),
            )
        )
    return groups


def nodes_to_come(
    groups: Iterable[NodeGroup], nodes: Iterable[Node], notes: Notes
) -> list[tuple[Node, Node]]:
    """Return the nodes that may be added, each with the node of its group that it is like.

    They sleep. A group of which the dump has no open node is noted: what its nodes have is not known.
    """
    open_nodes = [node for node in nodes if not node.closed]
    additions = []
    for group in groups:
        count = min(group.most - group.target, _MOST_NODES)
        if count <= 0:
            continue
        model = next((node for node in open_nodes if _is_of(node, group.name)), None)
        size = f"{group.target} of {group.most} nodes"
        place = f"node group {group.name!r}"
        if model is None:
            notes.add(
                "",
                place,
                f"it has {size}, and none of them is in the dump",
                "those that may be added do not count",
            )
            continue
        notes.add("", place, f"it has {size}", "those that may be added count as asleep")
        for k in range(count):
            name = f"{group.name} (to be added {k + 1})"
            state = f"may be added by the autoscaler ({size})"
            additions.append((Node(name, model.amounts, model.attributes, asleep=state), model))
    return additions


def _is_of(node: Node, group: str) -> bool:
    """Whether a node's labels say that it is of a group; a group's name may have more around it."""
    for label in _GROUP_LABELS:
        name = node.attributes.get(label)
        if name and any(f"{left}{name}{right}" in f"-{group}-" for left in "-/" for right in "-/"):
            return True
    return False


# Karpenter: pools of nodes of any size.


class NodePool(NamedTuple):
    """A pool: the labels and taints of its nodes."""

    labels: dict[str, str]
    taints: Taints

    def may_have(self, place: Place) -> bool:
        """Whether pods of a place may be on its nodes, as far as it says what these are."""
        return all(bears(taint, place.tolerations) for taint in self.taints) and all(
            fulfils(self.labels[line.key], line)
            for line in place.selector
            if line.key in self.labels
        )


class NodePools:
    """The pools of Karpenter."""

    def __init__(self) -> None:
        self._pools: dict[str, NodePool] = {}

    def read(self, manifest: Record, file: str) -> None:
        """Read a NodePool."""
        name = name_of(manifest)
        template = mapping_at(manifest, "spec", "template")
        labels = mapping_at(template, "metadata", "labels")
        self._pools[name] = NodePool(
            labels={key: str(value) for key, value in labels.items()} | {_POOL_LABEL: name},
            taints=taints_of(mapping_at(template, "spec")),
        )

    def left_out(self, pod: Pod) -> Texts:
        """Return the pools whose nodes to come do not count for a pod that waits."""
        places = pod.place.places if isinstance(pod.place, AnyOf) else (pod.place,)
        return tuple(
            f"{POOL_MAY_ADD} {name} may add within its limits"
            for name, pool in self._pools.items()
            if any(map(pool.may_have, places))
        )
