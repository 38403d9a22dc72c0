"""Promises in words: one thing said of each, and a sentence for each that is not kept."""

from __future__ import annotations

import pandas as pd


def in_words(found: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `fairlp.promises` for people: what stands of each promise, in one column.

    Columns that say nothing are left out, and of a counterexample that it ships.
    """
    shown = found.drop(columns=["promised"])
    shown["counterexample"] = found["counterexample"].astype(bool).map({True: "ships", False: ""})
    empty = [] if found[["audited", "failed"]].any(axis=None) else ["audited", "broken"]
    if not found["failed"].any():
        empty.append("failed")
    return shown.drop(columns=empty)


def broken_promises(found: pd.DataFrame) -> list[str]:
    """Return a sentence for each promise of the table that is refuted, or that audits found broken.

    Examples
    --------
    >>> import fairlp
    >>> for sentence in broken_promises(fairlp.promises(mechanisms=["tsf"])):
    ...     print(sentence)
    tsf breaks 'sharing incentive', promised by Khamse-Ashari et al., ICC 2017, Table I: on an instance that ships
    """
    said = []
    for (mechanism, wanted), (_, row) in zip(found.index, found.iterrows(), strict=True):
        where = ["on an instance that ships"] if row["standing"] == "refuted" else []
        if row["broken"]:
            where.append(f"on {row['broken']} of {row['audited']} instances audited now")
        if where:
            condition = f" if {row['condition']}" if row["condition"] else ""
            said.append(
                f"{mechanism} breaks {wanted!r}, promised by {row['source']}{condition}: "
                f"{' and '.join(where)}"
            )
    return said
