"""Nodes to come: what the status of the Kubernetes cluster autoscaler says that it may add."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .cluster import Node, Notes, Record, count_at, list_at, mapping_at, text_at, yaml_at

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
#: Before version 1.30 the status is text for people.
_NAME_IN_TEXT = re.compile(r"Name:\s")
_SIZE_IN_TEXT = re.compile(
    r"cloudProviderTarget=([0-9]{1,6}) \(minSize=[0-9]{1,6}, maxSize=([0-9]{1,6})\)"
)
#: So many nodes of one group are counted at most.
_MOST_NODES = 5000


class NodeGroup(NamedTuple):
    """A group of equal nodes: how many it is to have now, and how many it may have."""

    name: str
    target: int
    most: int


def groups_of(manifest: Record) -> list[NodeGroup]:
    """Return the groups of nodes of the autoscaler's ConfigMap.

    >>> text = "Name:  pool-a Health: Healthy (ready=1 cloudProviderTarget=1 (minSize=0, maxSize=4))"
    >>> groups_of({"data": {"status": text}})
    [NodeGroup(name='pool-a', target=1, most=4)]
    """
    text = text_at(manifest, "data", _KEY)
    in_text = []
    for group_text in _NAME_IN_TEXT.split(text)[1:]:
        words = group_text.split(maxsplit=2)
        size = _SIZE_IN_TEXT.search(words[-1]) if words[1:2] == ["Health:"] else None
        if size is not None:
            in_text.append(NodeGroup(words[0], int(size[1]), int(size[2])))
    if in_text:
        return in_text
    status = yaml_at(text, _KEY)
    groups = []
    for entry in list_at(status, "nodeGroups"):
        health = mapping_at(entry, "health")
        target = count_at(health, "cloudProviderTarget")
        most = count_at(health, "maxSize")
        groups.append(NodeGroup(text_at(entry, "name"), target, most))
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
            message = f"it has {size}, and none of them is in the dump"
            notes.add("", place, message, "those that may be added do not count")
            continue
        notes.add("", place, f"it has {size}", "those that may be added count as asleep")
        for k in range(count):
            name = f"{group.name} (to be added {k + 1})"
            state = f"may be added by the autoscaler ({size})"
            added = Node(name, model.amounts, model.attributes, asleep=state)
            additions.append((added, model))
    return additions


def _is_of(node: Node, group: str) -> bool:
    """Whether a node's labels say that it is of a group; a group's name may have more around it."""
    for label in _GROUP_LABELS:
        name = node.attributes.get(label)
        if name and any(f"{left}{name}{right}" in f"-{group}-" for left in "-/" for right in "-/"):
            return True
    return False
