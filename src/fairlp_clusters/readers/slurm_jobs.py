"""Jobs of Slurm: what a record of ``squeue --json``, or of ``scontrol show job``, asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from .cluster import (
    Amounts,
    EntryError,
    Names,
    Note,
    Notes,
    Record,
    Texts,
    Where,
    list_at,
    mapping_at,
    text_at,
    value_at,
)
from .slurm_licences import Needs, licences_needed
from .slurm_nodes import NodeRequest, feature_terms
from .slurm_text import (
    MOST,
    UNCOUNTED,
    array_tasks,
    array_throttle,
    gres,
    hosts,
    number,
    time_of,
    tres,
    words_at,
)

RUNNING_STATES = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"})
WAITING_STATES = frozenset({"PENDING", "REQUEUED"})
#: Reasons of pending jobs that only lack room; every other reason (a hold, a dependency, a limit of
#: a QOS or account, …) stops a job. See slurm.schedmd.com/job_reason_codes.html.
REASONS_OF_LACK_OF_ROOM = frozenset({"", "None", "Priority", "Resources"})
#: A node that the job names is not available: in use, reserved, or out of order.
NAMED_NODE_NOT_AVAILABLE = "ReqNodeNotAvail"
#: Too few licences are free.
LICENCES = "Licenses"
_LICENCE = "license/"
#: Values of ``--exclusive`` that share nodes with some jobs: of the same user, label or segment.
_SHARED_WITH_SOME = ("user", "mcs", "topo")


@dataclass
class SlurmJob:
    """A job: its account, user and place, its portions on nodes, and how many portions wait.

    A portion is the part of a job, or of one task of an array, on one node: an array of 3 tasks on
    2 nodes each has 6 portions. Each portion is a task of the cluster.

    ``portions`` are the node and the amounts of each portion that runs; of a job that waits, the
    amounts of one portion, with no node. ``held_portions`` count by reason those that may not run
    yet. ``array`` is the number of the job's array, empty for none; ``throttle`` counts tasks of
    it, each on ``node_count`` nodes. ``reason`` is Slurm's code of why the job waits, ``message`` its
    description, and ``left_out`` names what it asks of nodes that does not count here. ``licences`` are those of
    each task of the array. ``components`` is the number of the heterogeneous job that it is a part
    of, and ``component_count`` how many parts that has; empty, and 0 where it is not known. ``is_ending`` is
    whether it is over, and holds its nodes until their epilog is done.
    """

    name: str
    account: str
    user: str
    place: NodeRequest
    portions: list[tuple[str, Amounts]]
    waiting_portions: int
    held_portions: dict[str, int]
    since: str | None
    where: Where
    array: str
    throttle: int | None
    priority: float | None
    node_count: int
    reason: str
    message: str
    left_out: Names
    licences: Needs
    components: str
    component_count: int
    whole_nodes: bool
    is_ending: bool

    @property
    def runs(self) -> bool:
        """Whether the job runs: no portion of it waits or is held."""
        return not self.waiting_portions and not self.held_portions

    def hold(self, count: int, reason: str) -> None:
        """Hold so many of the portions that wait."""
        self.held_portions[reason] = self.held_portions.get(reason, 0) + count
        self.waiting_portions -= count


def job_of(entry: Record, where: Where, notes: Notes) -> SlurmJob:
    """Return the job of a record, which runs or waits.

    Parameters
    ----------
    entry : dict
    where : tuple of str
        The place of the record, for notes on what is left out or interpreted.
    notes : Notes

    Returns
    -------
    SlurmJob
    """
    note = partial(notes.add, *where)
    states = {state.upper() for state in words_at(entry, "job_state")}
    runs = not states & WAITING_STATES
    total, node_count = _job_amounts(entry, runs)
    needs, left_out = _licences(entry, total, note)
    reason = str(entry.get("state_reason") or "")
    waiting_portions = 0
    held_portions: dict[str, int] = {}
    if runs:
        portions = _portions(entry, total, note)
    else:
        waiting_portions = _array_tasks(entry, note) * node_count
        portions = [("", _even_portion(total, node_count, note))]
        if reason not in REASONS_OF_LACK_OF_ROOM | {NAMED_NODE_NOT_AVAILABLE}:
            held_portions = {reason: waiting_portions}
            waiting_portions = 0

    place, constraints = _node_request(entry, node_count, note)
    numbers = text_at(entry, "het_job_id_set")
    sharing = _sharing(entry)
    constraints += [f"--exclusive={word}" for word in sharing if word in _SHARED_WITH_SOME]
    return SlurmJob(
        name=str(entry.get("job_id", "?")),
        account=text_at(entry, "account"),
        user=text_at(entry, "user_name") or str(entry.get("user_id", "")),
        place=place,
        portions=portions,
        waiting_portions=waiting_portions,
        held_portions=held_portions,
        since=time_of(entry.get("submit_time")),
        where=where,
        array=_number_of(entry, "array_job_id"),
        throttle=None if runs else array_throttle(entry),
        node_count=node_count,
        priority=number(entry.get("priority")),
        reason=reason,
        message=_message(entry),
        left_out=[*constraints, *left_out],
        licences=needs,
        components=_number_of(entry, "het_job_id"),
        component_count=len(hosts(f"[{numbers}]")) if numbers else 0,
        whole_nodes=not runs and "none" in sharing,
        is_ending="COMPLETING" in states,
    )


def _job_amounts(entry: Record, runs: bool) -> tuple[Amounts, int]:
    """Return the amounts of a job by resource, and the number of its nodes.

    Of a job that runs they are those that it has, of others those that it asks for.
    """
    total = tres(
        (text_at(entry, "tres_alloc_str") if runs else "") or text_at(entry, "tres_req_str")
    )
    node_count = int(number(entry.get("node_count")) or total.get("node", 0) or 1)
    if not 1 <= node_count <= MOST:
        raise EntryError(f"its node_count is {node_count}; expected a number from 1 to {MOST}")
    for resource in sorted(UNCOUNTED & set(total)):
        del total[resource]
    if not total:
        raise EntryError("it has no amounts (tres_req_str, tres_alloc_str)")
    return total, node_count


def _licences(entry: Record, total: Amounts, note: Note) -> tuple[Needs, Texts]:
    """Return the licences of a job, and those that cannot be counted.

    Those in its amounts are taken off these: they are on no node.
    """
    of_amounts: Needs = {}
    for resource in [name for name in total if name.startswith(_LICENCE)]:
        of_amounts[resource.removeprefix(_LICENCE)] = int(total.pop(resource))
    if not total:
        raise EntryError("it has no amounts but licences (tres_req_str, tres_alloc_str)")
    text = text_at(entry, "licenses")
    try:
        return licences_needed(text) or of_amounts, ()
    except EntryError as error:
        note(str(error), "left out: they do not count")
        return {}, (f"licences ({text})",)


def _array_tasks(entry: Record, note: Note) -> int:
    """Return how many tasks of a job's array wait; a list that Slurm cuts off is noted."""
    text = text_at(entry, "array_task_string")
    if "..." in text:
        note("its list of array tasks is cut off", "those that it names count, and no others")
    return array_tasks(text)


def _even_portion(total: Amounts, node_count: int, note: Note) -> Amounts:
    """Return the part of a job on one of its nodes, where the dump lists only the total."""
    portion = {resource: amount / node_count for resource, amount in total.items()}
    if any(amount.denominator != 1 for amount in portion.values()):
        note(f"what it has does not divide by its {node_count} nodes", "divided evenly")
    return portion


def _portions(entry: Record, total: Amounts, note: Note) -> list[tuple[str, Amounts]]:
    """Return the amounts of a job on each of its nodes, so that they add up to its total.

    Of each resource these are the amounts by node of ``job_resources``, else those of
    ``gres_detail``, else equal parts.
    """
    by_node = dict(_allocated_amounts(entry))
    names = hosts(text_at(entry, "nodes")) or list(by_node)
    if not names:
        raise EntryError("it runs, but the dump does not list its nodes")
    even: Amounts = {}
    if set(by_node) != set(names):
        even = _even_portion(total, len(names), note)
    portions = [(name, dict(by_node.get(name, even))) for name in names]

    details = list_at(entry, "gres_detail")
    devices = [gres(str(text)) for text in details] if len(details) == len(names) else []
    for resource, amount in total.items():
        if sum(portion.get(resource, 0) for _, portion in portions) == amount:
            continue
        parts = [portion.get(resource, Fraction(0)) for portion in devices]
        if not parts or sum(parts) != amount:
            parts = [amount / len(names)] * len(names)
        for (_, portion), part in zip(portions, parts, strict=True):
            portion[resource] = part
    return portions


def _allocated_amounts(entry: Record) -> Iterator[tuple[str, Amounts]]:
    """Yield the nodes of a job with its CPUs and memory on each, of all versions of Slurm."""
    resources = mapping_at(entry, "job_resources")
    nodes = resources.get("nodes")
    allocations = resources.get("allocated_nodes")
    if isinstance(nodes, dict):
        allocations = nodes.get("allocation")
    for value in allocations if isinstance(allocations, list) else []:
        allocation = mapping_at(value)
        name = text_at(allocation, "name") or text_at(allocation, "nodename")
        amounts: Amounts = {}
        for resource, plain, of_new in (
            ("cpu", "cpus_used", ("cpus", "count")),
            ("memory", "memory_allocated", ("memory", "allocated")),
        ):
            amount = allocation.get(plain, allocation.get(of_new[0]))
            if isinstance(amount, dict):
                amount = amount.get(of_new[1])
            if type(amount) is int and amount >= 0:
                amounts[resource] = Fraction(amount)
        if name:
            yield name, amounts


def _node_request(entry: Record, node_count: int, note: Note) -> tuple[NodeRequest, Names]:
    """Return the nodes that a job asks for, and what it asks of them that does not count."""
    left_out = []
    features = None
    try:
        features = feature_terms(text_at(entry, "features"))
    except EntryError as error:
        note(str(error), "left out: any node of its partitions may take it")
        left_out.append(f"constraint {entry['features']}")

    # All nodes that it names are those that it runs on, or it needs others besides.
    required = hosts(text_at(entry, "required_nodes"))
    if required and len(set(required)) != node_count:
        note(
            f"it names {len(required)} nodes that it needs, and runs on {node_count}",
            "left out: any node of its partitions may take it",
        )
        left_out.append(f"required nodes {text_at(entry, 'required_nodes')}")
        required = []

    if value_at(entry, "contiguous", kind=bool, default=False):
        left_out.append("contiguous nodes")
    if number(entry.get("required_switches")):
        left_out.append("switches")
    request = NodeRequest(
        partitions=tuple(words_at(entry, "partition")),
        features=features,
        excluded=tuple(hosts(text_at(entry, "excluded_nodes"))),
        required=tuple(required),
        reservation=text_at(entry, "resv_name"),
    )
    return request, left_out


def _sharing(entry: Record) -> Names:
    """Return with whom a job shares its nodes: ``none``, ``user``, …; of all versions of Slurm."""
    words = [word.lower() for word in words_at(entry, "shared")]
    exclusive = entry.get("exclusive")
    if exclusive is True:
        return ["none"]
    if isinstance(exclusive, (str, list)):
        exclusive_words = [word.lower() for word in words_at(entry, "exclusive")]
        words += ["none" if word == "true" else word for word in exclusive_words]
    return list(dict.fromkeys(words))


def _number_of(entry: Record, key: str) -> str:
    """Return the number of an array or of a heterogeneous job; empty for none."""
    value = int(number(entry.get(key)) or 0)
    return str(value) if value else ""


def _message(entry: Record) -> str:
    """Return Slurm's description of why a job waits, or its reason; empty for none."""
    description = str(entry.get("state_description") or "")
    reason = str(entry.get("state_reason") or "")
    return description or (reason if reason != "None" else "")
