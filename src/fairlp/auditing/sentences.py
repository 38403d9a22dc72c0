"""Promises in words: a table for people, and a sentence for each promise that is broken."""

from __future__ import annotations

import pandas as pd


def in_words(promises: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `fairlp.promises` for people: without the columns that are empty.

    The column of counterexamples says which of them ship.
    """
    table = promises.drop(columns=["promised"])
    table["counterexample"] = (
        promises["counterexample"].astype(bool).map({True: "ships", False: ""})
    )
    empty = [] if promises[["audited", "failed"]].any(axis=None) else ["audited", "broken"]
    if not promises["failed"].any():
        empty.append("failed")
    return table.drop(columns=empty)


def broken_promises(promises: pd.DataFrame) -> list[str]:
    """Return a sentence for each promise of the table that is refuted, or broken in audits.

    Examples
    --------
    >>> import fairlp
    >>> for sentence in broken_promises(fairlp.promises(mechanisms=["tsf"])):
    ...     print(sentence)
    tsf breaks 'sharing incentive', promised by Khamse-Ashari et al., ICC 2017, Table I: on an instance that ships
    """
    sentences = []
    entries = zip(promises.index, promises.iterrows(), strict=True)
    for (mechanism, property), (_, row) in entries:
        places = []
        if row["standing"] == "refuted":
            places.append("on an instance that ships")
        if row["broken"]:
            places.append(f"on {row['broken']} of {row['audited']} instances audited now")
        if places:
            condition = f" if {row['condition']}" if row["condition"] else ""
            sentences.append(
                f"{mechanism} breaks {property!r}, promised by {row['source']}{condition}: "
                f"{' and '.join(places)}"
            )
    return sentences
