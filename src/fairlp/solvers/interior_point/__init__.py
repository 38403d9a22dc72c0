"""One interior-point method for all programs over one feasible region of servers and users.

In the order in which they are read:

* ``region``, ``problem``: users who share servers, rows on their tasks, and the variables.
* ``method``: the loop, and one step of it (predictor, corrector, centrality correctors, length).
* ``iterate``, ``normal_equations``: the errors of a point, and Newton directions from it.
* ``starts``: where the loop begins.
* ``structure``: users and servers recognised in a Program, and the answer back in its places.
* ``polishing``, ``sifting``, ``warm_starts``: last digits, very many pairs, starts near an optimum.
* ``face``, ``pricing``, ``session``: the later rounds of a leximin.
* ``threads``: one thread of BLAS, since two libraries of threads wait for each other.
* ``backend``: which answers are believed; HiGHS solves the rest.
"""

from __future__ import annotations

#: The name of the back end.
INTERIOR = "interior-point"
