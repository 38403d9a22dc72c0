"""Other weights of queues and users, by name: what fair shares would be with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fairlp import Instance, queues
from fairlp.errors import InstanceError, UnknownNameError, nearest, quoted


def with_weights(instance: Instance, weights: Mapping[Any, float]) -> Instance:
    """Return the instance with other weights of queues or users.

    ``queue:NAME`` and ``user:NAME`` say which of the two, a plain name may be either.
    """
    table = None if not instance.has_queues else instance.tree.table(instance.resources)
    paths = set() if table is None else set(table.index) - {""}
    user_weights = instance.user_weights.tolist()
    position = {str(user): n for n, user in enumerate(instance.users)}

    queue_weights = {}
    for key, weight in weights.items():
        prefix, _, suffix = str(key).partition(":")
        if prefix in ("queue", "user") and suffix:
            kinds = {prefix}
            name = suffix
        else:
            kinds = {"queue", "user"}
            name = str(key)
        is_queue = "queue" in kinds and queues.cleaned(name) in paths
        is_user = "user" in kinds and name in position
        if is_queue and is_user:
            raise InstanceError(
                f"{quoted(name)} is a queue and a user; write 'queue:{name}' or 'user:{name}'"
            )
        if is_queue:
            queue_weights[queues.cleaned(name)] = weight
        elif is_user:
            user_weights[position[name]] = weight
        else:
            names = [*(paths if "queue" in kinds else ()), *(position if "user" in kinds else ())]
            missing = " and no ".join(sorted(kinds))
            raise UnknownNameError(f"there is no {missing} {quoted(name)}; {nearest(name, names)}")
    if table is None:
        return instance.replace(weights=user_weights)
    rows = table["weight"].to_dict() | queue_weights
    # objects: pandas takes a list of whole numbers for floats, and some are too large for one
    weights_of_queues = pd.Series(rows, dtype=object).reindex(table.index)
    return instance.replace(weights=user_weights, queues=table.assign(weight=weights_of_queues))
