"""Mechanism × property: audit every promise on random instances, and search an instance that breaks every other one.

    python benchmarks/audits.py [--audits 500] [--tries 1000] [--mechanism NAME ...] [--property NAME ...] [--write]
    python benchmarks/audits.py --limits SECONDS
    python benchmarks/audits.py --rates [--mechanism NAME ...]
    python benchmarks/audits.py --lies
    python benchmarks/audits.py --power [--audits 100]

``--write`` keeps the simplest instances that were found, and the numbers of instances audited, in the files
that ship (src/fairlp/auditing/counterexamples.json and audited.json); entries of mechanisms and properties that were
not looked at are kept. Lies are audited on a fifth of the instances.
One line a promise: instances audited and broken, or the witness of the counterexample. A promise
that breaks is a finding: the definition audited is in docs/audit.md, and the instance shows it.
``--limits`` searches with that time limit, and shows by how much searches are late. ``--rates``
shows how many instances a search looks at in a second of CPU time, and how many times as long an
instance takes as one allocation of it. ``--lies`` audits strategy-proofness of drfh by 200 lies on 100 users × 100
servers: all demands positive, where prices tell most lies, and with zeros, where all are run.
``--power`` audits the mechanisms that are known to break strategy-proofness or Pareto-optimality: on
how many of the random instances that is seen, and whether the instances that ship for others show it.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import fairlp
from fairlp import Instance, auditing
from fairlp.auditing import audit
from fairlp.auditing.promises import (
    AUDITED,
    COLUMNS,
    CONTROLLED,
    LIES_ON_SHIPPED,
    SHIPPED,
    claims,
    count_broken,
    entries,
    fits,
)
from fairlp.auditing.properties import DYNAMIC
from fairlp.auditing.search import Search
from fairlp.mechanisms.table import TABLE
from fairlp.models.files.documents import to_document

NOT_RERUN = ("drf-milp", "mnw")
#: Audits of lies run a mechanism again for each: so many times fewer instances.
LIES_COST = 5
#: Searches whose time is measured: of lies, of programs, of answers without one; some find an instance and simplify it.
LIMITED = (
    ("drfh", "strategy-proof"),
    ("tsf", "strategy-proof"),
    ("psdsf-rdm", "strategy-proof"),
    ("h-drf", "group strategy-proof"),
    ("naive-drf", "strategy-proof"),
    ("drfh", "Pareto-optimal"),
    ("drfh", "population-monotonic"),
    ("drf", "envy-free"),
)


def show_limits(seconds: float, seed: int) -> None:
    """Print what searches with a time limit tried, and the seconds that they took."""
    for name, wanted in LIMITED:
        begin = perf_counter()
        cpu = process_time()
        result = Search(seed=seed, time_limit=seconds, progress=False).run(name, wanted)
        elapsed = perf_counter() - begin
        cpu = process_time() - cpu
        print(f"{name:12} {wanted:22} {elapsed:6.2f} s, CPU {cpu:6.2f} s  {result}", flush=True)


#: Mechanisms and properties whose searches are clocked, and instances of each.
RATED = ("drf", "drfh", "njc", "psdsf-rdm", "h-drf")
RATED_PROPERTIES = {
    "strategy-proof": 12,
    "population-monotonic": 60,
    "envy-free": 150,
    "Pareto-optimal": 150,
    "sharing incentive": 150,
}


def show_rates(names: list[str], seed: int) -> None:
    """Print instances a second of CPU time, the best of three; none is simplified."""
    for name in names:
        row = TABLE[name]
        for property_name, tries in RATED_PROPERTIES.items():
            rng = np.random.default_rng(seed)
            drawn = [Search().draw(rng, row, property_name) for _ in range(tries)]
            instances = [instance for instance in drawn if row.undefined(instance) is None]
            seconds = cpu_seconds(search_each, instances, name, property_name)
            ratio = seconds / cpu_seconds(allocate_each, instances, name)
            line = f"{name:12} {property_name:22} {len(instances) / seconds:8.1f} a second"
            print(f"{line}, {ratio:6.1f} × one allocation", flush=True)


#: Seconds for the random instances of each mechanism whose power is measured.
POWER_SECONDS = 20.0
#: Lies, users and servers of an audit that is clocked, and the aim in seconds.
LIES = 200
LIARS = 100
LIES_AIM = 3.0


def show_lies(seed: int) -> None:
    """Print the CPU seconds of an audit of lies, and beside it those of as many allocations."""
    rng = np.random.default_rng(seed)
    demands = rng.uniform(1, 10, (LIARS, 3))
    capacities = rng.uniform(50, 150, (LIARS, 3))
    with_zeros = np.where(rng.random(demands.shape) < 0.3, 0.0, demands)
    with_zeros[:, 0] = demands[:, 0]
    for title, needs in (("all demands positive", demands), ("three in ten zero", with_zeros)):
        instance = Instance.from_arrays(needs, capacities)
        allocation = fairlp.allocate(instance, "drfh")
        runs = LIES * cpu_seconds(allocate_each, [instance], "drfh")
        seconds = cpu_seconds(
            lambda instance=instance, allocation=allocation: audit(
                instance, allocation, ["strategy-proof"], tries=LIES, seed=seed
            )
        )
        verdict = "kept" if seconds <= LIES_AIM else "BROKEN"
        line = f"drfh, {LIARS} × {LIARS}, {title}: {LIES} lies in {seconds:.2f} s"
        print(
            f"{line} (aim {LIES_AIM:.0f} s: {verdict}), {seconds / runs:.2f} × {LIES} allocations"
        )


def show_power(audits: int, seed: int) -> None:
    """Print on how many random instances each mechanism that is known to fall is seen to."""
    for name, property_name in sorted(entries(SHIPPED)):
        if property_name not in CONTROLLED:
            continue
        # a generator leaves out the instances that ship
        plain = Search(everything=True)
        drawn = partial(plain.draw, row=TABLE[name], property_name=property_name)
        search = Search(generator=drawn, time_limit=POWER_SECONDS, progress=False)
        tally = count_broken(name, property_name, audits, seed, search)
        others = [
            other
            for other, its_property in sorted(entries(SHIPPED))
            if its_property == property_name and other != name
        ]
        shown_by = sum(breaks(name, property_name, other) for other in others)
        print(
            f"{name:18} {property_name:22} {tally.broken} of {tally.audited} random instances, and "
            f"{shown_by} of the {len(others)} that ship for others",
            flush=True,
        )


def breaks(name: str, property_name: str, other: str) -> bool:
    """Return whether a mechanism breaks a property on the instance that ships for another one."""
    instance = fairlp.counterexample(other, property_name)
    assert instance is not None
    if TABLE[name].undefined(instance) is not None:
        return False
    try:
        allocation = fairlp.allocate(instance, name)
        finding = audit(instance, allocation, [property_name], tries=LIES_ON_SHIPPED).iloc[0]
    except fairlp.errors.FairlpError:
        return False
    return finding["holds"] is False


def search_each(instances: list[Instance], name: str, property_name: str) -> None:
    """Look whether the mechanism breaks the property on one of the instances."""
    for instance in instances:
        copy = instance.derived()  # without what the last run computed of it
        search = Search(tries=1, shrink=False, progress=False, generator=lambda _, copy=copy: copy)
        search.run(name, property_name)


def allocate_each(instances: list[Instance], name: str) -> None:
    """Allocate each instance once."""
    for instance in instances:
        fairlp.allocate(instance.derived(), name)


def cpu_seconds(function: Callable[..., None], *arguments: Any) -> float:
    """Return the least CPU time of three runs."""
    seconds = []
    for _ in range(3):
        begin = process_time()
        function(*arguments)
        seconds.append(process_time() - begin)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--mechanism", action="append")
    parser.add_argument("--property", action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--limits", type=float, metavar="SECONDS")
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--lies", action="store_true")
    parser.add_argument("--power", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.rates:
        show_rates(options.mechanism or list(RATED), options.seed)
        return
    if options.lies:
        show_lies(options.seed)
        return
    if options.power:
        show_power(options.audits, options.seed)
        return
    if options.limits is not None:
        show_limits(options.limits, options.seed)
        return
    names = options.mechanism or [name for name in TABLE if name not in NOT_RERUN]
    for name, property_name in product(names, options.property or COLUMNS):
        if fits(name, property_name):
            show_cell(name, property_name, options)


def show_cell(name: str, property_name: str, options: argparse.Namespace) -> None:
    """Print what audits and searches say of one promise; keep it where that is asked for."""
    begin = perf_counter()
    is_about_lies = any(word in property_name for word in ("proof", "pays"))
    words = []
    claim = claims(TABLE[name]).get(property_name)
    broken = 0
    if claim is not None:
        audits = options.audits // (LIES_COST if is_about_lies else 1)
        tally = count_broken(name, property_name, audits, options.seed)
        broken = tally.broken
        words.append(f"promised; {tally.audited} audited, {broken} broken, {tally.failed} failed")
        if options.write:
            keep(AUDITED, name, property_name, {"instances": tally.audited - broken})
    is_conditional = claim is not None and bool(claim.conditions)
    if (claim is None or broken or is_conditional) and property_name not in DYNAMIC:
        instance = broken_instance(name, property_name, options, is_about_lies)
        if instance is None:
            words.append("no counterexample found")
        else:
            allocation = fairlp.allocate(instance, name)
            words.append(f"broken: {audit(instance, allocation, property_name).witness.iloc[0]}")
            if options.write:
                keep(SHIPPED, name, property_name, entry_of(instance))
    seconds = perf_counter() - begin
    print(f"{name:18} {property_name:22} {seconds:6.1f} s  {'; '.join(words)}", flush=True)


def broken_instance(
    name: str, property_name: str, options: argparse.Namespace, is_about_lies: bool
) -> Instance | None:
    """Return an instance that breaks a property: a plain one, or else one of all that is taken."""
    tries = options.tries // (LIES_COST if is_about_lies else 1)
    for everything in (False, True):
        search = Search(
            seed=options.seed, tries=tries, lies=40, everything=everything, progress=False
        )
        instance = search.run(name, property_name).instance
        if instance is not None:
            return instance
    return None


def keep(file: str, name: str, property_name: str, entry: dict[str, Any]) -> None:
    """Write an entry into a file that ships."""
    path = Path(auditing.__file__).parent / file
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    by_key = {(other["mechanism"], other["property"]): other for other in entries}
    known = by_key.get((name, property_name), {})
    claimed = {field: known[field] for field in known if field == "claimed"}
    by_key[name, property_name] = {"mechanism": name, "property": property_name} | entry | claimed
    lines = ",\n".join(" " + json.dumps(by_key[key]) for key in sorted(by_key))
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def entry_of(instance: Instance) -> dict[str, Any]:
    """Return an instance as the files that ship have it: its arrays, and what is not plain."""
    plain = Instance.from_arrays(instance.demands, instance.capacities)
    entry: dict[str, Any] = {
        "demands": instance.demands.tolist(),
        "capacities": instance.capacities.tolist(),
    }
    for name in ("rates", "weights", "entitlements", "eligible", "task_limits"):
        values = getattr(instance, name)
        if not np.array_equal(values, getattr(plain, name)):
            entry[name] = np.where(values == np.inf, None, values).tolist()
    if instance.has_queues:
        records = to_document(instance).get("queues", [])
        entry["queue"] = list(instance.tree.names())
        entry["queues"] = {record.pop("queue"): record for record in records}
    return entry


if __name__ == "__main__":
    main()
