"""``fair_shares``: who has what and what would be fair, as a table."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd

from ...errors import InstanceError
from ...mechanisms.mechanism import Mechanism
from .standing import Standing
from .subject import Given, require_user_or_queue, subject_of


def fair_shares(
    given: Given,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    by: Literal["user", "queue"] = "user",
    level: int | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return who has what beside what is fair, what each waits for, and who holds it.

    Parameters
    ----------
    given : Snapshot, Instance, str or Path
        A path is of a scheduler's dump (:func:`fairlp.snapshot`) or of an instance (:func:`fairlp.read`).
    mechanism : str or Mechanism, optional
        What is fair; by default hierarchical DRF where users stand in queues, else DRF of the pool.
    observed : Allocation, DataFrame of users × servers, or array of that shape, optional
        What runs now, for an instance; without it, what the mechanism gives is what everyone has.
    by : {"user", "queue"}
    level : int, optional
        Only queues at this depth (1: below the root); by default all, each with everything below it.
    **options
        Of the mechanism, as ``count="borrowed"``; see :func:`fairlp.allocate`.

    Returns
    -------
    DataFrame
        Indexed by user, or by the path of the queue (``""`` is the root). ``tasks`` and ``fair_tasks``; ``share`` and
        ``fair_share``, dominant shares of the pool; ``guarantee`` and what is ``borrowed`` beyond it, as shares (NaN
        without guarantees; a user's part of its queue's); tasks ``waiting``, and ``owed`` of the fair share;
        ``blocked_by`` (the resource, or a queue's cap), on how many ``servers``, ``where`` least is lacking (or whose
        cap it is); ``held_by`` (the three who hold most of it there) and ``beyond_fair`` (what those hold who have
        more than is fair). A queue also has ``level``, ``users``, ``weight`` and ``cap``.

    Raises
    ------
    InstanceError
        Where queues are asked for and there are none.
    UnknownNameError
        For another ``by``.

    Examples
    --------
    >>> import fairlp
    >>> queued = fairlp.Instance.from_arrays([[1, 0], [1, 0]], [[4, 4]], users=["A", "B"], queue=["a", "b"])
    >>> found = fairlp.fair_shares(queued, observed=[[3], [1]])
    >>> found["owed"].to_dict(), found.loc["B", "blocked_by"], found.loc["B", "beyond_fair"]
    ({'A': 0.0, 'B': 1.0}, 'resource1', {'A': 1.0})
    """
    require_user_or_queue(by)
    subject = subject_of(given, observed)
    if by == "queue" and subject.instance.queues is None:
        raise InstanceError("the instance has no queues; give queue= (the path of each user's queue) to make some")
    if level is not None and by == "user":
        raise InstanceError("level is of queues; give by='queue' too")
    standing = Standing.of(subject, mechanism, **options)
    if by == "user":
        return standing.users
    table = standing.queues
    return table if level is None else table[table["level"] == level]
