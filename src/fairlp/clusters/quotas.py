"""ResourceQuotas of namespaces: what is requested there has a cap."""

from __future__ import annotations

from typing import Any, Final

from .cluster import Cluster, name_in_path
from .notes import Notes, part
from .pods import namespace_of
from .quantities import amount, quantity

_REQUESTS: Final = "requests."
#: Resources whose quota may be named without ``requests.``.
_PLAIN: Final = ("cpu", "memory", "ephemeral-storage", "pods")


class Quotas:
    """The caps of namespaces."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._caps: dict[str, dict[str, float]] = {}

    def add(self, given: dict[str, Any], file: str) -> None:
        """Take in a ResourceQuota; of several for one namespace the least holds."""
        namespace = namespace_of(given)
        where = file, f"ResourceQuota '{namespace}/{part(given, 'metadata', 'name', kind=str, default='')}'"
        if part(given, "spec", "scopes", kind=list) or part(given, "spec", "scopeSelector"):
            self._notes.add(*where, "it is of some pods only (scopes)", "left out")
            return
        caps = self._caps.setdefault(namespace, {})
        for name, value in part(given, "spec", "hard", default={}).items():
            resource = name.removeprefix(_REQUESTS)
            if resource == "storage" or not (name.startswith(_REQUESTS) or name in _PLAIN):
                if name != "count/pods":
                    self._notes.add(*where, f"hard limit of {name!r}", "left out: it is none of what pods request")
                    continue
                resource = "pods"
            caps[resource] = min(caps.get(resource, float("inf")), amount(resource, quantity(value)))

    def fill(self, cluster: Cluster, above: str) -> None:
        """Put the caps on the queues of namespaces, which lie below ``above``."""
        for namespace, caps in self._caps.items():
            if above:
                what = "its quota also binds pods that are in queues"
                self._notes.add("", f"namespace {namespace!r}", what, "it holds for those in no queue only")
            cluster.queue(above + name_in_path(namespace))["cap"] = caps
