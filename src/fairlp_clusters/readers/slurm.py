"""Slurm: nodes, jobs, licences and accounts, as its tools print them with ``--json``."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import compress
from pathlib import Path
from typing import Any

from fairlp.errors import FileFormatError, quoted
from fairlp.toolkit import read_text

from .cluster import (
    Amounts,
    Cluster,
    EntryError,
    Job,
    Leaf,
    Node,
    Record,
    Request,
    demand_of,
    first_time,
    mapping_at,
    text_at,
)
from .pods import SHARDS
from .rows import Allowed
from .slurm_accounts import Accounts
from .slurm_jobs import (
    LICENCES,
    NAMED_NODE_NOT_AVAILABLE,
    RUNNING_STATES,
    WAITING_STATES,
    SlurmJob,
    job_of,
)
from .slurm_licences import Licences
from .slurm_nodes import (
    NodeFeatures,
    NodeRequest,
    allowed_nodes,
    node_amounts,
    node_state,
    node_use,
)
from .slurm_text import words_at
from .sources import END, OF_ACCOUNTS, advice, is_json, members

_UNITS = {"cpu": "cores", "memory": "MiB", "gpu": ""}
#: Keys about a file, and the mark of its end.
_KEYS_OF_FILES = frozenset(
    {"meta", "errors", "warnings", "plugin", "last_update", "last_backfill", END}
)
#: Resources that are parts of a node's GPUs: each takes from the other.
_PARTS_OF_GPUS = frozenset({"shard", "mps"})
#: The reservation of a node that does not say which it is.
_UNNAMED = "(not named)"


def _not_judged(entry: Record, file: str) -> None:
    """Leave out a partition: its nodes name it, and who pre-empts whom is not judged."""


class SlurmReader:
    """The reader of nodes, jobs, licences and accounts.

    :meth:`read` reads one file. After the last, :meth:`finish` puts each job in the queue of its
    account and user.
    """

    def __init__(self) -> None:
        self.cluster = Cluster("slurm", _UNITS)
        self.note = self.cluster.notes.add
        self.accounts = Accounts(self.cluster.notes)
        self.licences = Licences()
        self.jobs: dict[str, SlurmJob] = {}
        self.node_features: dict[str, NodeFeatures] = {}
        self._readers = {
            "nodes": (self._read_node, ("name",)),
            "jobs": (self._read_job, ("job_id",)),
            "licenses": (self.licences.read, ("LicenseName",)),
            "partitions": (_not_judged, ("name",)),
            "associations": (self.accounts.read, ("account",)),
        }

    def read(self, path: Path) -> None:
        """Read the lists of a file of JSON."""
        text = read_text(path)
        if not is_json(text):
            raise FileFormatError(f"{path} is a text of Slurm, and JSON is read{advice(path)}")
        for key, value in members(text, path):
            if key == "meta" and not self.cluster.version:
                with self.cluster.notes.noting(path.name, key):
                    slurm = mapping_at(value, "slurm") or mapping_at(value, "Slurm")
                    self.cluster.version = text_at(slurm, "release")
            if key == "shares":
                raise FileFormatError(f"{path} is of sshare; leave it out, and print {OF_ACCOUNTS}")
            if key in _KEYS_OF_FILES or value == []:
                continue
            if key in self._readers:
                self._read_entry(key, value, path.name)
            else:
                self.note(path.name, f"key {quoted(key)}", "it is not read")

    def _read_entry(self, list_name: str, entry: Any, file: str) -> None:
        """Read an entry of a list of Slurm's JSON."""
        reader, keys = self._readers[list_name]
        self.cluster.notes.read_entry(reader, entry, file, f"{list_name}:", *keys)

    def _read_node(self, entry: Record, file: str) -> None:
        name = text_at(entry, "name")
        if not name:
            raise EntryError("it has no name")
        state = node_state(words_at(entry, "state") + words_at(entry, "state_flags"))
        amounts = node_amounts(entry)
        reservation = ""
        if state.is_reserved:
            reservation = text_at(entry, "reservation") or _UNNAMED
            self.note(
                file,
                f"node {name!r}",
                "it is in a reservation",
                "only jobs of the reservation may run on it",
            )

        partitions = words_at(entry, "partitions")
        available_features = words_at(entry, "features")
        features = words_at(entry, "active_features") or available_features
        if state.asleep:
            # A node that sleeps starts with any of the features that are available on it.
            features = list(dict.fromkeys([*features, *available_features]))
        if name not in self.cluster.nodes:
            self.node_features[name] = NodeFeatures(partitions, features, reservation)
        node = Node(
            name,
            amounts,
            attributes={"partitions": ",".join(partitions), "features": ",".join(features)},
            closed=state.closed,
            file=file,
            in_use=node_use(entry),
            asleep=state.asleep,
            kept=state.kept,
        )
        self.cluster.add(node)

    def _read_job(self, entry: Record, file: str) -> None:
        name = str(entry.get("job_id", "?"))
        where = file, f"job {name}"
        states = {state.upper() for state in words_at(entry, "job_state")}
        if not states & (RUNNING_STATES | WAITING_STATES):
            self.note(
                *where,
                f"it has finished ({'+'.join(sorted(states)) or 'no state'})",
                "left out: it holds nothing",
            )
            return
        if name in self.jobs:
            self.note(*where, "an earlier job has this number")
            return
        if "SUSPENDED" in states and not states & WAITING_STATES:
            self.note(*where, "it is suspended", "it counts as one that runs")
        self.jobs[name] = job_of(entry, where, self.cluster.notes)

    def finish(self) -> tuple[Cluster, Allowed]:
        """Return the cluster, and the function that says where its jobs may run."""
        cluster = self.cluster
        self.node_features = {name: self.node_features[name] for name in cluster.nodes}
        self._place_in_reservations()
        self._hold_for_named_nodes()
        self._hold_beyond_throttles()
        self._ask_for_whole_nodes()
        self._hold_for_licences()
        self._hold_incomplete_components()
        self._name_shards()

        components: dict[str, list[SlurmJob]] = defaultdict(list)
        for job in self.jobs.values():
            if job.runs:
                self._run(job)
                continue
            if job.waiting_portions and job.components:
                components[job.components].append(job)
            elif job.waiting_portions:
                self._wait(f"job {job.name}", [job])
            for reason, portions in job.held_portions.items():
                cluster.hold(self._leaf(job, job.portions[0][1]), portions, reason)
        for number, jobs in components.items():
            self._wait(f"job {number}", jobs)

        cluster.jobs = self._job_counts()
        cluster.limits_reached = self.licences.limits_reached()
        self.accounts.fill(cluster)
        cluster.why_nowhere = lambda place: (
            "no node has all that it asks for: partition, features, reservation, name"
        )
        return cluster, lambda place: allowed_nodes(place, self.node_features)

    def _leaf(self, job: SlurmJob, amounts: Amounts) -> Leaf:
        """Return the class of tasks that a portion of a job is in."""
        queue = self.accounts.path(job.account, job.user)
        owner = f"{job.account}/{job.user}"
        return Leaf(queue, owner, owner, demand_of(amounts), job.place, tenant=owner)

    def _run(self, job: SlurmJob) -> None:
        """Count the portions of a job that runs."""
        is_together = len(job.portions) > 1 or job.components
        name = f"job {job.components or job.name}" if is_together else ""
        for node, amounts in job.portions:
            leaf = self._leaf(job, amounts)
            if job.is_ending:
                self.cluster.end(node, leaf.demand)
                continue
            self.cluster.run(leaf, node, job.where, job=name)

    def _wait(self, name: str, jobs: list[SlurmJob]) -> None:
        """Count a job that waits, or the parts of a heterogeneous job."""
        tasks: Counter[Leaf] = Counter()
        since = None
        for job in jobs:
            tasks[self._leaf(job, job.portions[0][1])] += job.node_count
            since = first_time(since, job.since)
        priorities = [job.priority for job in jobs if job.priority is not None]
        request = Request(
            priority=max(priorities, default=None),
            message=next((job.message for job in jobs if job.message), ""),
            left_out=tuple(dict.fromkeys(text for job in jobs for text in job.left_out)),
        )
        # Slurm starts the parts of a heterogeneous job on nodes of their own, too.
        copies = jobs[0].waiting_portions // jobs[0].node_count
        if tasks.total() == 1:
            (leaf,) = tasks
            self.cluster.wait(leaf, copies, since, request)
            return
        self.cluster.wait_together(Job(name, dict(tasks), copies, True, since, request))

    def _place_in_reservations(self) -> None:
        """Take off jobs the reservations of which the dump lists no node; they are noted."""
        reservations = {"", *(node.reservation for node in self.node_features.values())}
        for job in self.jobs.values():
            reservation = job.place.reservation
            if reservation not in reservations:
                self.note(
                    *job.where,
                    f"it runs in reservation {reservation!r}, of which no node is in the dump",
                    "left out: any node of its partitions may take it",
                )
                job.place = job.place._replace(reservation="")
                job.left_out.append(f"reservation {reservation}")

    def _hold_for_named_nodes(self) -> None:
        """Hold jobs that Slurm says wait for a certain node, unless that is only in use.

        A job waits as others do where all nodes that it names are open in the dump.
        """
        nodes = self.cluster.nodes
        for job in self.jobs.values():
            if job.waiting_portions and job.reason == NAMED_NODE_NOT_AVAILABLE:
                required = job.place.required
                are_open = all(host in nodes and not nodes[host].closed for host in required)
                if not (required and are_open and self._nodes_of(job.place)):
                    job.hold(job.waiting_portions, job.message)

    def _nodes_of(self, place: NodeRequest) -> list[Node]:
        """Return the open nodes that jobs of a place may run on."""
        mask = allowed_nodes(place, self.node_features)
        return [node for node in compress(self.cluster.nodes.values(), mask) if not node.closed]

    def _hold_beyond_throttles(self) -> None:
        """Hold the tasks of arrays beyond the number that may run at once (``1-10%2``).

        Tasks of the array that run count, each a record of its own. Slurm lists the tasks that wait
        as one record; where two records of one array wait (a task that was changed or put back
        stands apart), each of them may start as many tasks as the throttle leaves.
        """
        running_tasks = Counter(job.array for job in self.jobs.values() if job.array and job.runs)
        for job in self.jobs.values():
            if job.throttle is not None:
                startable_tasks = max(job.throttle - running_tasks[job.array], 0)
                beyond = job.waiting_portions - startable_tasks * job.node_count
                if beyond > 0:
                    job.hold(beyond, f"array throttle (%{job.throttle})")

    def _ask_for_whole_nodes(self) -> None:
        """Let jobs with ``--exclusive`` demand all of a node, or hold them where nodes differ."""
        for job in self.jobs.values():
            if not job.whole_nodes:
                continue
            alternatives = {demand_of(node.amounts) for node in self._nodes_of(job.place)}
            if len(alternatives) == 1:
                amounts = {resource: Fraction(amount) for resource, amount in alternatives.pop()}
                job.portions = [("", amounts)]
            elif alternatives and job.waiting_portions:
                reason = "it wants whole nodes (--exclusive), and those that it may have differ"
                job.hold(job.waiting_portions, reason)

    def _hold_for_licences(self) -> None:
        """Hold jobs for which too few licences are free: those of lower priority, then later ones.

        Jobs that need licences which the dump does not list wait as others do.
        """
        jobs = [job for job in self.jobs.values() if job.licences and not job.runs]
        for job in sorted(jobs, key=lambda job: (-(job.priority or 0.0), job.since or "")):
            if LICENCES in job.held_portions:
                reason = self.licences.take(job.licences, 0) or LICENCES
                job.held_portions = {reason: job.held_portions[LICENCES]}
            elif job.waiting_portions:
                unlisted = self.licences.unlisted(job.licences)
                if unlisted:
                    job.left_out.append(f"licences ({unlisted})")
                    self.note(
                        *job.where,
                        f"it needs licences that the dump does not list ({unlisted})",
                        "left out; scontrol show licenses lists them",
                    )
                copies = job.waiting_portions // job.node_count
                startable = self.licences.copies(job.licences, copies)
                reason = self.licences.take(job.licences, startable)
                if startable < copies:
                    job.hold((copies - startable) * job.node_count, reason)

    def _hold_incomplete_components(self) -> None:
        """Hold the parts of heterogeneous jobs of which another part is held or not in the dump."""
        components: dict[str, list[SlurmJob]] = defaultdict(list)
        for job in self.jobs.values():
            if job.components and not job.runs:
                components[job.components].append(job)
        for number, jobs in components.items():
            count = max(job.component_count for job in jobs)
            reasons = [reason for job in jobs for reason in job.held_portions]
            reason = f"other parts of heterogeneous job {number} are not in the dump"
            if reasons:
                reason = f"another part of heterogeneous job {number} is held: {reasons[0]}"
            for job in jobs:
                if job.waiting_portions and (reasons or len(jobs) < max(count, 2)):
                    job.hold(job.waiting_portions, reason)

    def _name_shards(self) -> None:
        """Name the constraint of jobs that ask for GPUs of nodes that also count parts of these."""
        shared = [
            "gpu" in node.amounts and not _PARTS_OF_GPUS.isdisjoint(node.amounts)
            for node in self.cluster.nodes.values()
        ]
        places = {job.place for job in self.jobs.values()} if any(shared) else set()
        meets = {
            place: (allowed_nodes(place, self.node_features) & shared).any() for place in places
        }
        for job in self.jobs.values():
            resources = {resource.partition(":")[0] for resource in job.portions[0][1]}
            if meets.get(job.place) and not resources.isdisjoint({"gpu", *_PARTS_OF_GPUS}):
                job.left_out.append(SHARDS)

    def _job_counts(self) -> dict[str, int]:
        """Return how many jobs run, wait and are held, as ``squeue -r`` counts them."""
        jobs = self.jobs.values()
        running_jobs = sum(job.runs and not job.is_ending for job in jobs)
        waiting_jobs = sum(job.waiting_portions // job.node_count for job in jobs)
        held_jobs = sum(sum(job.held_portions.values()) // job.node_count for job in jobs)
        return {"run": running_jobs, "wait": waiting_jobs, "are held": held_jobs}
