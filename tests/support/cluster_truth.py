"""What jobs have room in a cluster with Kueue, by the plain objects of its dump and a program of whole numbers.

It reads dumps by itself, and shares no code with fairlp.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


@dataclass
class Tasks:
    """Equal tasks of a job: ``least`` start at once, ``most`` in all, each on one of some nodes.

    ``placed`` counts those that run, by node.
    """

    demand: dict
    least: int
    most: int
    nodes: dict  # flavor: names of the nodes that take new ones
    placed: dict = field(default_factory=dict)
    flavor: str = ""


@dataclass
class Job:
    name: str
    tenant: str
    parts: list[Tasks]
    runs: bool


@dataclass
class Quota:
    """A queue or cohort: its parent (empty: none), and (nominal, borrowing, lending) by column."""

    parent: str
    amounts: dict = field(default_factory=dict)


@dataclass
class Truth:
    """Nodes' amounts, jobs, and quotas by (resource, flavor); without queues no quotas count."""

    nodes: dict
    jobs: list[Job]
    quotas: dict = field(default_factory=dict)

    def largest(self, tenant, *, exactly=None):
        """Return the most jobs of a tenant that fit together, beside what runs.

        Parameters
        ----------
        exactly : (int, int), optional
            So many jobs and tasks have to fit; the answer is whether they do.
        """
        waiting = [job for job in self.jobs if job.tenant == tenant and not job.runs]
        running = [job for job in self.jobs if job.runs]
        program = _Program()
        starts = {}  # of each waiting job: 0 or 1
        extras = []
        usage = {}  # (queue, column): terms
        load = {}  # (node, resource): terms
        for j, job in enumerate(waiting):
            starts[j] = program.number(1)
            for part in job.parts:
                choices = []
                everywhere = []
                for flavor, nodes in part.nodes.items():
                    chosen = program.number(1)
                    choices.append(chosen)
                    on_nodes = []
                    for name in nodes:
                        placed = program.number(part.most)
                        on_nodes.append(placed)
                        for resource, amount in part.demand.items():
                            load.setdefault((name, resource), []).append((placed, amount))
                            column = resource, flavor
                            usage.setdefault((tenant, column), []).append((placed, amount))
                    if on_nodes:
                        terms = [(placed, 1) for placed in on_nodes]
                        program.row([*terms, (chosen, -part.most)], -np.inf, 0)
                    everywhere += on_nodes
                program.row([*((c, 1) for c in choices), (starts[j], -1)], 0, 0)
                total = [(placed, 1) for placed in everywhere]
                program.row([*total, (starts[j], -part.least)], 0, np.inf)
                program.row([*total, (starts[j], -part.most)], -np.inf, 0)
                extras += [*total, (starts[j], -part.least)]

        for job in running:
            for part in job.parts:
                for resource, amount in part.demand.items():
                    for name, number in part.placed.items():
                        load.setdefault((name, resource), []).append((None, number * amount))
                    total = sum(part.placed.values()) * amount
                    usage.setdefault((job.tenant, (resource, part.flavor)), []).append(
                        (None, total)
                    )
        for name, amounts in self.nodes.items():
            for resource, amount in amounts.items():
                program.at_most(load.get((name, resource), []), amount)
        self._within_quotas(program, usage)
        sizes = [sum(part.least for part in job.parts) for job in waiting]
        as_jobs = [*((starts[j], 1) for j in starts), *extras]
        as_tasks = [*((starts[j], sizes[j]) for j in starts), *extras]
        if exactly is not None:
            program.row(as_jobs, exactly[0], exactly[0])
            program.row(as_tasks, exactly[1], exactly[1])
            return program.solve([]) is not None
        return program.solve(as_jobs)

    def _within_quotas(self, program, usage):
        """Add the rows of Kueue's quotas: what a queue uses beyond what it keeps goes up."""
        columns = sorted({column for quota in self.quotas.values() for column in quota.amounts})
        children = {}
        for name, quota in self.quotas.items():
            children.setdefault(quota.parent, []).append(name)
        for column in columns:
            owned, kept, beyond = {}, {}, {}

            def go(name, column=column, owned=owned, kept=kept, beyond=beyond):
                if column not in self.quotas[name].amounts and name not in children:
                    owned[name] = kept[name] = 0
                    beyond[name] = program.number(None, whole=False)
                    return  # no limit
                nominal, borrowing, lending = self.quotas[name].amounts.get(column, (0, None, None))
                owned[name] = nominal
                terms = list(usage.get((name, column), []))
                for child in children.get(name, []):
                    go(child)
                    owned[name] += owned[child] - kept[child]
                    terms.append((beyond[child], 1))
                kept[name] = 0 if lending is None else max(0, owned[name] - lending)
                is_root = self.quotas[name].parent not in self.quotas
                limit = 0 if is_root else borrowing
                if limit is not None:
                    program.at_most(terms, owned[name] + limit)
                beyond[name] = program.number(None, whole=False)
                program.at_most([*terms, (beyond[name], -1)], kept[name])

            for name, quota in self.quotas.items():
                if quota.parent not in self.quotas:
                    go(name)


class _Program:
    """A program of whole numbers; a term is (number, factor), with None for a constant."""

    def __init__(self):
        self.upper = []
        self.whole = []
        self.rows = []

    def number(self, upper, whole=True):
        self.upper.append(np.inf if upper is None else upper)
        self.whole.append(whole)
        return len(self.upper) - 1

    def at_most(self, terms, limit):
        self.row(terms, -np.inf, limit)

    def row(self, terms, low, high):
        constant = sum(factor for k, factor in terms if k is None)
        self.rows.append(([t for t in terms if t[0] is not None], low - constant, high - constant))

    def solve(self, objective):
        """Return the largest value of the objective; None where nothing is feasible."""
        n = len(self.upper)
        matrix = np.zeros((len(self.rows), n))
        for i, (terms, _, _) in enumerate(self.rows):
            for k, factor in terms:
                matrix[i, k] += factor
        low = np.array([row[1] for row in self.rows], dtype=float)
        high = np.array([row[2] for row in self.rows], dtype=float)
        c = np.zeros(n)
        for k, factor in objective:
            c[k] -= factor
        # HiGHS's presolve has called a feasible program infeasible: that answer is asked for again
        for has_presolve in (True, False):
            solution = milp(
                c,
                integrality=np.array(self.whole, dtype=int),
                bounds=Bounds(0, np.array(self.upper)),
                constraints=LinearConstraint(matrix, low, high),
                options={"presolve": has_presolve},
            )
            if solution.x is not None:
                break
        return None if solution.x is None else round(-solution.fun)


def _amount(text):
    """Cores; GiB."""
    if text.endswith("Gi"):
        return int(text.removesuffix("Gi"))
    return int(text)


def _amounts(texts):
    amounts = {name: _amount(text) for name, text in texts.items() if name != "pods"}
    return {name: amount for name, amount in amounts.items() if amount}


def of_kueue(items):
    """Return the truth of a dump of nodes, pods, and objects of Kueue."""
    by_kind = {}
    for item in items:
        by_kind.setdefault(item["kind"], []).append(item)
    nodes = {}
    labels_of_nodes = {}
    for node in by_kind["Node"]:
        name = node["metadata"]["name"]
        nodes[name] = _amounts(node["status"]["allocatable"])
        labels_of_nodes[name] = node["metadata"]["labels"]

    quotas, flavors_of, labels_of = {}, {}, {}
    for flavor in by_kind.get("ResourceFlavor", []):
        labels_of[flavor["metadata"]["name"]] = flavor["spec"].get("nodeLabels", {})
    for kind, key in (("ClusterQueue", "cohort"), ("Cohort", "parent")):
        for queue in by_kind.get(kind, []):
            name = ("cohort " if kind == "Cohort" else "") + queue["metadata"]["name"]
            parent = queue["spec"].get(key, "")
            quotas[name] = Quota(f"cohort {parent}" if parent else "")
            for group in queue["spec"].get("resourceGroups", []):
                for flavor in group["flavors"]:
                    flavors_of.setdefault(name, []).append(flavor["name"])
                    for entry in flavor["resources"]:
                        limits = [
                            _amount(entry[limit]) if limit in entry else None
                            for limit in ("nominalQuota", "borrowingLimit", "lendingLimit")
                        ]
                        quotas[name].amounts[entry["name"], flavor["name"]] = tuple(limits)
    for quota in list(quotas.values()):
        if quota.parent:
            quotas.setdefault(quota.parent, Quota(""))

    queue_of = {
        item["metadata"]["name"]: item["spec"]["clusterQueue"]
        for item in by_kind.get("LocalQueue", [])
    }
    jobs = []
    for workload in by_kind.get("Workload", []):
        tenant = queue_of[workload["spec"]["queueName"]]
        admission = workload["status"].get("admission")
        owner = workload["metadata"]["ownerReferences"][0]["name"]
        parts = []
        for k, pod_set in enumerate(workload["spec"]["podSets"]):
            spec = pod_set["template"]["spec"]
            demand = _amounts(spec["containers"][0]["resources"]["requests"])
            nodes_of_flavors = {}
            for flavor in flavors_of[tenant]:
                selector = spec.get("nodeSelector", {}) | labels_of.get(flavor, {})
                nodes_of_flavors[flavor] = [
                    name
                    for name, labels in labels_of_nodes.items()
                    if all(labels.get(a) == b for a, b in selector.items())
                ]
            least = pod_set.get("minCount", pod_set["count"])
            part = Tasks(demand, least, pod_set["count"], nodes_of_flavors)
            if admission:
                part.flavor = admission["podSetAssignments"][k]["flavors"]["cpu"]
            parts.append(part)
        jobs.append(Job(workload["metadata"]["name"], tenant, parts, bool(admission)))
        for pod in by_kind.get("Pod", []):
            if pod["metadata"]["ownerReferences"][0]["name"] == owner:
                demand = _amounts(pod["spec"]["containers"][0]["resources"]["requests"])
                (part,) = [part for part in parts if part.demand == demand]
                node = pod["spec"]["nodeName"]
                part.placed[node] = part.placed.get(node, 0) + 1
    # what runs on a node beyond its amounts stays
    return Truth(nodes, jobs, quotas)
