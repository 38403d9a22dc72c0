"""Slurm's text ``key=value``, as ``scontrol show node`` prints it, read as records of its JSON.

The format is that of ``slurm_sprint_node_table`` and ``slurm_sprint_job_info`` in Slurm's sources
(``src/api/node_info.c``, ``src/api/job_info.c``), and of ``scontrol show licenses``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .cluster import Key, Names, Record
from .slurm_text import hosts, whole_number

#: The list of JSON that has the records which begin with each key.
LISTS = {
    "NodeName": "nodes",
    "JobId": "jobs",
    "LicenseName": "licenses",
    "PartitionName": "partitions",
}
_HEAD = re.compile(f"({'|'.join(LISTS)})=")
#: What Slurm writes where a field is empty.
_EMPTY = frozenset({"", "(null)", "None", "N/A", "n/a"})
_FIELD = re.compile(r"(?:^|\s)([^\s=]+)=(\S*)")
#: Free text may hold what looks like a field. It ends before the field that Slurm prints behind it
#: in one line (``scontrol -o``), else with the line.
_FREE_TEXT = {
    "nodes": re.compile(
        r"(?:^|\s)(?:OS=.*?(?=\sRealMemory=\d|$)"
        r"|(?:Reason|Comment|Extra)=.*?(?=\sReservationName=\S+\s*$|$))"
    ),
    "jobs": re.compile(
        r"(?:^|\s)(?:JobName=.*?(?=\sUserId=\S*\(\d+\)\sGroupId=|$)"
        r"|(?:Command|WorkDir|\w*Comment|Extra|Std\w+|SubmitLine)=.*$)"
    ),
}
#: Lines of a node's reason behind its first are indented more than other lines.
_MORE_OF_A_REASON = " " * 4

#: The names that Slurm's JSON has for fields of its text.
_NAMES = {
    list_name: dict(line.split() for line in lines.strip().splitlines())
    for list_name, lines in {
        "nodes": """
            NodeName name
            CPUTot cpus
            CPUEfctv effective_cpus
            CPUAlloc alloc_cpus
            RealMemory real_memory
            AllocMem alloc_memory
            MemSpecLimit specialized_memory
            Gres gres
            State state
            Partitions partitions
            AvailableFeatures features
            ActiveFeatures active_features
            AllocTRES tres_used
            ReservationName reservation
        """,
        "jobs": """
            JobId job_id
            ArrayJobId array_job_id
            ArrayTaskId array_task_string
            ArrayTaskThrottle array_max_tasks
            HetJobId het_job_id
            HetJobIdSet het_job_id_set
            UserId user_name
            Priority priority
            Account account
            QOS qos
            JobState job_state
            Reason state_description
            SubmitTime submit_time
            Partition partition
            ReqNodeList required_nodes
            ExcNodeList excluded_nodes
            NodeList nodes
            NumNodes node_count
            TRES tres_req_str
            ReqTRES tres_req_str
            AllocTRES tres_alloc_str
            Features features
            Reservation resv_name
            OverSubscribe shared
            Contiguous contiguous
            Licenses licenses
            Switches required_switches
            ReqSwitch required_switches
        """,
        "licenses": """
            LicenseName LicenseName
            Total Total
            Free Free
        """,
        "partitions": """
            PartitionName name
        """,
    }.items()
}
#: What ``OverSubscribe`` says, in the words of JSON's ``shared``.
_SHARED = {"NO": "none", "USER": "user", "MCS": "mcs", "TOPO": "topo"}
_TIME = re.compile(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]")
#: A reason that begins so is `Resources`, with a description (Slurm's ``job_scheduler.c``).
_DESCRIPTION_OF_RESOURCES = "Nodes required for job are"
_REASON_CODE = re.compile(r"[A-Za-z]+(?=$|,)")


def is_text_record(text: str) -> bool:
    """Whether a text begins with a record such as ``NodeName=n1``."""
    return _HEAD.match(text.lstrip("\n")) is not None


def text_blocks(text: str) -> Iterator[Names]:
    """Yield the lines of each record of a text; a record may be one line (``scontrol -o``)."""
    block: Names = []
    for line in text.lstrip("\n").splitlines():
        if _HEAD.match(line):
            if block:
                yield block
            block = [line]
        else:
            block.append(line)
    if block:
        yield block


def record_of(lines: Names) -> tuple[str, Record]:
    """Return the record of these lines as JSON has it, and the list of JSON that it would be in.

    >>> record_of(["NodeName=n1 Arch=x86_64", "   CPUAlloc=4 CPUTot=16", "   OS=Linux State=2"])
    ('nodes', {'name': 'n1', 'alloc_cpus': '4', 'cpus': '16'})
    """
    head = _HEAD.match(lines[0])
    assert head is not None
    list_name = LISTS[head[1]]
    fields = list(_fields(lines, list_name))

    record: Record = {}
    for key, text in fields:
        name = _NAMES[list_name].get(key)
        if name is not None and name not in record and text not in _EMPTY:
            record[name] = text
    if list_name == "jobs":
        _complete_job(record, fields)
    return list_name, record


def _fields(lines: Iterable[str], list_name: str) -> Iterator[Key]:
    """Yield the fields of a record, without free text."""
    free_text = _FREE_TEXT.get(list_name)
    for line in lines:
        if list_name == "nodes" and line.startswith(_MORE_OF_A_REASON):
            continue
        if free_text is not None:
            line = free_text.sub("", line)
        for field in _FIELD.finditer(line):
            yield field[1], field[2]


def _complete_job(record: Record, fields: list[Key]) -> None:
    """Write what the text of a job says otherwise than JSON as JSON has it."""
    if "user_name" in record:
        record["user_name"] = record["user_name"].partition("(")[0]
    if "shared" in record:
        record["shared"] = [_SHARED.get(record["shared"], record["shared"].lower())]
    if not _TIME.fullmatch(record.get("submit_time", "")):
        record.pop("submit_time", None)
    record["contiguous"] = record.get("contiguous") == "1"

    # The text has the description in place of the reason where there is one, with underscores.
    description = record.pop("state_description", "").replace("_", " ")
    code = _REASON_CODE.match(description)
    record["state_reason"] = description
    if description.startswith(_DESCRIPTION_OF_RESOURCES):
        record["state_reason"] = "Resources"
        record["state_description"] = description
    elif code is not None and code[0] != description:
        record["state_reason"] = code[0]
        record["state_description"] = description

    # A task of an array that runs has its own number where others have the list of those that wait.
    if record.get("job_state") != "PENDING":
        record.pop("array_task_string", None)
        record.setdefault("tres_alloc_str", record.get("tres_req_str", ""))
    allocations = list(_allocations(fields))
    if allocations:
        record["job_resources"] = {"nodes": {"allocation": allocations}}
        record["gres_detail"] = [allocation["gres"] for allocation in allocations]


def _allocations(fields: list[Key]) -> Iterator[Record]:
    """Yield what a job has on each node, as ``scontrol -d show job`` prints it."""
    groups: list[dict[str, str]] = []
    for key, text in fields:
        if key == "Nodes":
            groups.append({})
        if groups and key in ("Nodes", "CPU_IDs", "Mem", "GRES", "GRES_IDX"):
            groups[-1].setdefault(key, text)
    for group in groups:
        memory = group.get("Mem", "")
        numbers = group.get("CPU_IDs", "")
        cpus = len(hosts(f"[{numbers}]")) if numbers else 0
        for name in hosts(group["Nodes"]):
            allocation: Record = {"name": name, "gres": group.get("GRES", "")}
            if cpus:
                allocation["cpus"] = {"count": cpus}
            megabytes = whole_number(memory)
            if megabytes is not None:
                allocation["memory"] = {"allocated": megabytes}
            yield allocation
