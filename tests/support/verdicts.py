"""What a verdict says, as short lines: its sentence, the tenants that are short or wait, the notes."""

from __future__ import annotations

import pandas as pd

from fairlp_clusters.dues.dues import Dues
from fairlp_clusters.dues.facts import facts_of
from fairlp_clusters.dues.verdict import Verdict
from fairlp_clusters.page.sections import tenant_table


def judged(source, mechanism=None, observed=None):
    """The verdict about facts, an instance, a snapshot, or a dump in a folder."""
    return Verdict.of(Dues.of(facts_of(source, observed), mechanism))


def lines_of(verdict):
    """The sentence; ``tenant: what waits; the scheduler's words; room; holders``; and the notes."""
    rows = []
    for row in tenant_table(verdict).frame.to_dict("records"):
        texts = [row[name] for name in ("waits", "message", "why", "held") if row[name]]
        if row["waits"] or row["short_of"]:
            rows.append(f"{row['tenant']}: {'; '.join(texts)}")
    return [verdict.sentence, *rows, *verdict.notes]


def table_of(folder):
    """The table of tenants of a dump, with their tasks that run, wait, and are owed."""
    verdict = judged(folder)
    dues = verdict.dues
    tenants = dues.facts.tenants
    sums = {"tasks": dues.has, "waiting": dues.waiting, "owed": dues.shares.owed}
    columns = {name: tenants.sums(values) for name, values in sums.items()}
    return verdict.table.join(pd.DataFrame(columns, index=tenants.names))
