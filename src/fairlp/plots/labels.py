"""What bars of servers are called in a figure: every row by its label, or classes of equal servers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..models.instances.instance import Instance

#: Classes of servers with a bar of their own; the smaller ones share one.
_CLASSES = 24


def server_rows(instance: Instance) -> tuple[list[str], np.ndarray, str]:
    """Return a label for each row of servers, each row's own number, and what the labels are."""
    labels = [_counted(str(name), int(count)) for name, count in zip(instance.servers, instance.counts, strict=True)]
    return labels, np.arange(len(labels)), "server (number of them)"


def server_classes(instance: Instance) -> tuple[list[str], np.ndarray, str]:
    """Return a label for each class of equal servers, the class of each row, and what the labels are.

    When there are more than 24 classes, the smallest of them are one.
    """
    attributes = instance.server_attributes.reset_index(drop=True)
    keys = pd.concat([pd.DataFrame(instance.capacities), attributes.astype(str)], axis=1)
    keys.columns = pd.RangeIndex(keys.shape[1])
    group = keys.groupby(list(keys.columns), sort=False, dropna=False).ngroup().to_numpy()
    first = np.unique(group, return_index=True)[1]
    rows, servers = np.bincount(group), np.bincount(group, weights=instance.counts).astype(int)
    labels = [_class_label(instance, int(k), int(rows[g])) for g, k in enumerate(first)]
    twice = {label for label in labels if labels.count(label) > 1}
    labels = [
        f"{label}: {_amounts(instance, int(k))}" if label in twice else label
        for label, k in zip(labels, first, strict=True)
    ]
    amounts = any(_amounts(instance, int(k)) in label for label, k in zip(labels, first, strict=True))
    what = "server class (number of servers)"
    if amounts:
        what += f"; amounts are {', '.join(map(str, instance.resources))}"
    labels = [_counted(label, int(count)) for label, count in zip(labels, servers, strict=True)]
    if len(labels) <= _CLASSES:
        return labels, group, what
    largest = np.sort(np.argsort(-servers, kind="stable")[: _CLASSES - 1])
    place = np.full(len(labels), len(largest))
    place[largest] = np.arange(len(largest))
    others = len(labels) - len(largest)
    together = _counted(f"{others} other classes", int(np.delete(servers, largest).sum()))
    return [*(labels[g] for g in largest), together], place[group], what


def _class_label(instance: Instance, row: int, rows: int) -> str:
    """Return what a class is called: its only row, or its attributes, or its capacities."""
    if rows == 1:
        return str(instance.servers[row])
    values = [
        value for value in instance.server_attributes.iloc[row].tolist() if value == value and value not in (None, "")
    ]
    return ", ".join(map(str, values)) or _amounts(instance, row)


def _amounts(instance: Instance, row: int) -> str:
    return ", ".join(f"{amount:.6g}" for amount in instance.capacities[row])


def _counted(label: str, count: int) -> str:
    return f"{label} ({count})" if count > 1 else label
