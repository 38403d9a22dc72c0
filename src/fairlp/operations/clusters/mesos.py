"""Mesos: the master's ``state`` (agents, frameworks, tasks), and ``roles``, ``quota``, ``weights`` where there are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...models.files.whole_files import read_text
from .assembly import Allowed
from .cluster import (
    Cluster,
    Floats,
    Leaf,
    Node,
    Odd,
    Record,
    Where,
    add_amounts,
    called,
    demand_of,
    list_at,
    mapping_at,
    name_in_path,
    part,
    positive,
    shown,
    text_at,
)
from .sources import END, members

_UNITS = {"cpus": "1/1000 core", "mem": "MiB", "disk": "MiB", "gpus": "", "ports": ""}
_HOLDS = ("TASK_RUNNING", "TASK_STAGING", "TASK_STARTING", "TASK_KILLING")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_NUMBER = (int, float)
#: Mesos counts in thousandths.
_THOUSAND = 1000
#: Of a framework: what has tasks that hold nothing any more, or that nobody can reach.
_GONE = ("completed_tasks", "unreachable_tasks")


def amounts_of(given: Record) -> Floats:
    """Return amounts by resource; CPUs in thousandths, ports by how many there are.

    >>> amounts_of({"cpus": 0.1, "mem": 64, "ports": "[31000-31001, 31005-31005]"})
    {'cpus': 100.0, 'mem': 64.0, 'ports': 3.0}
    """
    found: Floats = {}
    for name, value in given.items():
        if isinstance(value, str):
            ranges = _RANGE.findall(value)
            if not re.fullmatch(r"(?!.*[0-9]{10})\[[0-9,\s-]*\]", value, re.DOTALL):
                raise Odd(f"{name} is {shown(value)}; expected a number, or ranges such as '[31000-32000]'")
            found[name] = float(sum(int(last) - int(first) + 1 for first, last in ranges))
            continue
        if isinstance(value, bool) or not isinstance(value, _NUMBER) or value < 0:
            raise Odd(f"{name} is {shown(value)}; expected a number of at least 0")
        thousandths = round(Fraction(repr(value)) * _THOUSAND)
        found[name] = float(thousandths) if name == "cpus" else float(Fraction(thousandths, _THOUSAND))
    return found


def path_of(role: str) -> str:
    """Return the path of a role: roles are trees already."""
    return "/".join(name_in_path(step) for step in role.split("/"))


class MesosReader:
    """Gathers agents, frameworks and roles, and then puts tasks where agents are known."""

    def __init__(self) -> None:
        self.cluster = Cluster("mesos", _UNITS, limited=False)
        self.note = self.cluster.notes.add
        self.agents: dict[str, tuple[Record, str]] = {}
        self.frameworks: list[tuple[Record, str]] = []
        self.names: dict[str, str] = {}  # of nodes, by agent
        self.seen: set[tuple[str, str]] = set()  # tasks and executors

    def read(self, path: Path) -> None:
        """Take in a file; what the master says of itself is passed over."""
        takes = {
            "slaves": self._agent,
            "frameworks": self._framework,
            "roles": self._role,
            "infos": self._quota,
            "": self._weight,
        }
        for key, value in members(read_text(path), path):
            if key in ("orphan_tasks", "unregistered_frameworks", "recovered_slaves") and value:
                self.note(path.name, key, f"{len(value)} entries are not read", "left out")
            take = takes.get(key)
            if take is None or key == END or value == []:
                continue
            for entry in value if isinstance(value, list) else [value]:
                self.cluster.notes.take(take, entry, path.name, f"{key or 'weights'}:", "name", "id", "role")

    def _agent(self, given: Record, file: str) -> None:
        name = text_at(given, "id")
        if not name:
            raise Odd("it has no id")
        if name in self.agents:
            self.note(file, f"agent {name!r}", "there is an earlier agent of this id", "left out")
            return
        for key in ("resources", "used_resources"):  # what is wrong with an agent is told before it is taken
            amounts_of(mapping_at(given, key))
        part(given, "active", kind=bool), part(given, "attributes")
        for role in mapping_at(given, "reserved_resources"):
            what = f"what is reserved for role {role!r}"
            self.note(file, f"agent {name!r}", what, "open to all: it is not told who may use it")
        self.agents[name] = given, file

    def _framework(self, given: Record, file: str) -> None:
        self.frameworks.append((given, file))

    def _role(self, given: Record, file: str) -> None:
        name = text_at(given, "name")
        self._weight({"role": name, "weight": given.get("weight")}, file)
        quota = mapping_at(given, "quota")
        if quota:
            row = self.cluster.queue(path_of(name))
            row["guarantee"] = amounts_of(mapping_at(quota, "guarantee"))
            row["cap"] = amounts_of(mapping_at(quota, "limit"))

    def _quota(self, given: Record, file: str) -> None:
        role = text_at(given, "role")
        amounts = {
            text_at(one, "name"): part(one, "scalar", "value", kind=_NUMBER, default=0)
            for one in list_at(given, "guarantee")
        }
        self.cluster.queue(path_of(role))["guarantee"] = amounts_of(amounts)
        what = "a guarantee without a limit (before Mesos 1.9 it is both)"
        self.note(file, f"quota of {role!r}", what, "taken as a guarantee only")

    def _weight(self, given: Record, file: str) -> None:
        role, weight = text_at(given, "role"), part(given, "weight", kind=_NUMBER, default=1)
        if not role:
            raise Odd("it names no role")
        weight = positive(weight, (file, f"role {role!r}"), self.cluster.notes)
        self.cluster.queue(path_of(role))["weight"] = float(weight)

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster; nothing tells where tasks may be, so it is everywhere."""
        cluster = self.cluster
        hosts = Counter(str(given.get("hostname", "")) for given, _ in self.agents.values())
        for agent, (given, file) in self.agents.items():
            host = str(given.get("hostname", ""))
            self.names[agent] = host if host and hosts[host] == 1 else f"{host} ({agent})".strip()
            closed = "" if part(given, "active", kind=bool, default=True) else "not active"
            attributes = {
                key: value if isinstance(value, (str, int, float)) else shown(value)
                for key, value in mapping_at(given, "attributes").items()
            }
            amounts = amounts_of(mapping_at(given, "resources"))
            cluster.add(Node(self.names[agent], amounts, attributes, closed, file))
        if self.frameworks:
            what = "the master does not know what frameworks wait for"
            cluster.note("", "what waits", what, "nobody waits, and users have no limit of tasks")
        for given, file in self.frameworks:
            for kind, one in self._holders(given, file):
                where = file, f"{kind} {called(one, 'id', 'executor_id')}"
                with cluster.notes.noting(*where):
                    self._run(given, kind, one, where)
        self._compare()
        return cluster, lambda place: None

    def _holders(self, given: Record, file: str) -> Iterator[tuple[str, Any]]:
        """Yield the tasks and executors of a framework that hold something."""
        where = file, f"framework {given.get('name')!r}"
        for key, kind in (("tasks", "task"), ("executors", "executor")):
            with self.cluster.notes.noting(*where):
                for one in list_at(given, key):
                    yield kind, one
        for key in _GONE:
            if isinstance(given.get(key), list) and given[key]:
                self.note(*where, f"{key} ({len(given[key])})", "left out: they hold nothing")

    def _run(self, given: Record, kind: str, one: Any, where: Where) -> None:
        """Take in a task or an executor of a framework."""
        framework = str(given.get("name", given.get("id", "")))
        identity = text_at(one, "id" if kind == "task" else "executor_id")
        agent = text_at(one, "slave_id")
        key = f"{kind} of {given.get('id', framework)}", f"{identity} {agent if kind == 'executor' else ''}"
        if key in self.seen:
            self.note(*where, f"there is an earlier {kind} of this id", "left out")
            return
        self.seen.add(key)
        state = part(one, "state", kind=str, default=_HOLDS[0])
        if state not in _HOLDS:
            self.note(*where, f"it has finished ({state})", "left out: it holds nothing")
            return
        roles, own = list_at(given, "roles"), part(one, "role", kind=str)
        role = own or part(given, "role", kind=str) or (str(roles[0]) if roles else "*")
        if len(roles) > 1 and not own:
            self.note(*where, f"its framework has {len(roles)} roles", f"taken as one of {role!r}")
        demand = demand_of(amounts_of(mapping_at(one, "resources")))
        if not demand:
            if kind == "task":
                self.note(*where, "it asks for nothing", "left out")
            return
        label = f"{role}/{framework}" + (" executor" if kind == "executor" else "")
        leaf = Leaf(path_of(role), f"{kind} {given.get('id', framework)}", label, demand)
        self.cluster.run(leaf, self.names.get(agent, agent), where)

    def _compare(self) -> None:
        """Note agents that say that something else is in use than tasks and executors do."""
        used: dict[str, Floats] = {}
        for leaf, group in self.cluster.groups.items():
            for node, count in group.running.items():
                add_amounts(used.setdefault(node, {}), dict(leaf.demand), count)
        for agent, (given, file) in self.agents.items():
            if not part(given, "used_resources"):
                continue
            said, held = amounts_of(part(given, "used_resources")), used.get(self.names[agent], {})
            for resource in sorted(said):
                if said[resource] != held.get(resource, 0.0):
                    what = (
                        f"it says that {said[resource]:g} of {resource!r} are in use, tasks {held.get(resource, 0.0):g}"
                    )
                    self.note(file, f"agent {agent!r}", what, "what tasks say is what is observed")
