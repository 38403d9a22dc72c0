"""Objects of Kubernetes, made by hand in the documented shapes; no real cluster wrote them."""

from __future__ import annotations

import json


def node(name, labels=None, conditions=(), **spec):
    """A node of 8 cores, 32 GiB and 110 pods; what is given replaces its allocatable, and its spec."""
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"} | spec.pop("allocatable", {})
    status = {"allocatable": allocatable, "conditions": list(conditions)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": status,
    }


def pod(
    name, namespace="ml", owner=("ReplicaSet", "web-7d4b9c6f5"), on=None, requests=None, **spec
):
    """A pod of one container; it runs where ``on`` says, and waits where it is None."""
    requests = {"cpu": "500m", "memory": "1Gi"} if requests is None else requests
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {"pod-template-hash": "7d4b9c6f5"} | spec.pop("labels", {}),
        "annotations": spec.pop("annotations", {}),
        "creationTimestamp": spec.pop("since", "2026-01-01T00:00:00Z"),
    }
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    phase = spec.pop("phase", "Running" if on else "Pending")
    spec = {"containers": [{"name": "main", "resources": {"requests": requests}}]} | spec
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def thing(kind, name, spec, version="v1", namespace=None, **metadata):
    """Any other object."""
    metadata |= {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def kueue(kind, name, spec, **fields):
    """An object of Kueue."""
    return thing(kind, name, spec, "kueue.x-k8s.io/v1beta1", **fields)


def volcano(name, spec, **annotations):
    """A queue of Volcano; annotations are given without their prefix."""
    notes = {f"volcano.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return thing("Queue", name, spec, "scheduling.volcano.sh/v1beta1", annotations=notes)


def flavors(*entries):
    """Resource groups of one flavor with these (resource, nominalQuota, more) entries."""
    resources = [{"name": name, "nominalQuota": quota} | fields for name, quota, fields in entries]
    return [
        {
            "coveredResources": [e[0] for e in entries],
            "flavors": [{"name": "default", "resources": resources}],
        }
    ]


def written(folder, *items, name="dump.json"):
    """The folder, with a List of objects in it."""
    text = json.dumps(
        {
            "apiVersion": "v1",
            "items": list(items),
            "kind": "List",
            "metadata": {"resourceVersion": ""},
        }
    )
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def said(snapshot, phrase):
    """The lines of what was not understood that have this text in them, as (where, done)."""
    table = snapshot.not_understood
    rows = table[table["what"].str.contains(phrase, regex=False)]
    return list(zip(rows["where"], rows["done"], strict=True))
