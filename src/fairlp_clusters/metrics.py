"""Figures of a verdict in the text format of Prometheus, for the node exporter's textfile collector."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from .dues.verdict import Verdict

#: By name of a metric: the figure of a tenant's row, and what it is.
_METRICS = {
    "has_share": ("has", "Dominant share of the cluster that a tenant has."),
    "due_share": ("due", "Dominant share of the cluster that is due to a tenant."),
    "short_jobs": ("short_jobs", "Whole jobs of its due that a tenant is short of."),
    "waiting_jobs": ("waiting_jobs", "Jobs of a tenant that wait."),
    "waiting_seconds": ("waiting", "Seconds that the first waiting job of a tenant has waited."),
}


def metrics(verdict: Verdict) -> str:
    """Return the figures of all tenants, and the verdict: 1 fair, 0 not fair, NaN where there is none."""
    facts = verdict.dues.facts
    table = verdict.table.assign(waiting=_waiting_seconds(verdict))
    lines: list[str] = []
    for name, (column, about) in _METRICS.items():
        lines += _head(name, about)
        lines += [
            f'fairlp_{name}{{tenant="{_escaped(str(tenant))}"}} {value:.10g}'
            for tenant, value in table[column].items()
            if not math.isnan(value)
        ]
    lines += _head("fair", "Whether no tenant is short of its due.")
    lines.append(f"fairlp_fair {'NaN' if verdict.is_fair is None else int(verdict.is_fair)}")
    if not pd.isna(facts.time):
        lines += _head("dump_time_seconds", "When the dump was made.")
        lines.append(f"fairlp_dump_time_seconds {_instant(facts.time).timestamp():.0f}")
    return "\n".join([*lines, ""])


def _head(name: str, about: str) -> Iterator[str]:
    yield f"# HELP fairlp_{name} {about}"
    yield f"# TYPE fairlp_{name} gauge"


def _waiting_seconds(verdict: Verdict) -> pd.Series[float]:
    """Return how long the first job of each tenant had waited when the dump was made."""
    time = verdict.dues.facts.time
    since = pd.to_datetime(verdict.table["since"], utc=True, errors="coerce", format="ISO8601")
    if pd.isna(time):
        return since.map(lambda _: math.nan)
    return (_instant(time) - since).dt.total_seconds().clip(lower=0)


def _instant(time: pd.Timestamp) -> pd.Timestamp:
    """Return a time with its zone; one without is of this computer's zone."""
    return pd.Timestamp(time.to_pydatetime().astimezone())


def _escaped(label: str) -> str:
    r"""Return a label as the format has it.

    >>> print(_escaped('a"b\\c'))
    a\"b\\c
    """
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
