"""Every tolerance of fairlp: one name, one value, one home.

All are relative: to the size of the numbers that a comparison is made of (see each comment), never
to 1.
"""

from __future__ import annotations

from typing import Final

#: Primal and dual feasibility: what solvers are asked for, and what a certified result keeps,
#: relative to the terms of a row or column; also the optimality conditions of logarithms solved by
#: tangents, and by how much an objective of several gives way to later ones (relative to its terms)
#: where ROUNDING leaves these without a point.
FEASIBILITY: Final = 1e-9
#: A user who takes little beside others may lack this part of its tasks, as far as prices tell, and
#: its allocation is still called proved (which says how much); more is not proved.
LEAST_PROVED: Final = 1e-6
#: Two numbers are called equal when they differ by at most this, relative to the larger: totals,
#: shares and levels of two allocations, sums of entitlements, granted requests, fixed points of
#: PS-DSF, a number and the next whole one; also the error of a step along a trajectory.
AGREEMENT: Final = 1e-9
#: A gap at which an iterative method's result is accepted as optimal: of tangents, of interior
#: points; what first-order methods, which gain digits slowly, and SCIP are asked for; how far
#: errors of earlier rounds may have moved a level before rationals settle it.
ACCEPTED: Final = 1e-8
#: The tightest tolerance that HiGHS accepts; the rounds of a leximin use it, so that errors do not
#: add up.
SOLVER_TIGHTEST: Final = 1e-10
#: What Clarabel is asked for first where the objective has logarithms or powers: at 1e-8 its tasks
#: are off by 1e-5, and no duals prove them.
CONIC_TIGHTEST: Final = 1e-11
#: A solution is called verified when residuals and duality gap, relative, are at most this.
VERIFIED: Final = 1e-7
#: A row without a right-hand side is measured against at least this fraction of what its variables
#: could reach, and a row with integers of its own unit: with VERIFIED, what is below 1e-12 of that
#: is rounding noise.
NEGLIGIBLE: Final = 1e-5
#: Beside a number this many times larger, another one may be a solver's noise: numbers of an
#: instance, raises without duals, distances to a task limit, slacks along a trajectory, factors of
#: products that vanish at an optimum.
NOISE: Final = 1e-6
#: How far answers of any back end, first-order methods included, may be from right: what the
#: conformance suite asks, and what the answer of a first-order method to a linear program is held
#: to, whose status states it.
CONFORMANCE: Final = 1e-6
#: A point of a concave optimum whose objective is right to ACCEPTED: it is right to the root of
#: that only.
CONVEX_POINT: Final = 1e-4
#: A resource counts as saturated when what is left is at most this fraction of its capacity.
SATURATED: Final = 1e-11
#: What is left of a capacity by the rounding of a sum over its users, or of an objective of several
#: by the rounding of its terms: at most this fraction of it.
ROUNDING: Final = 2.0**-50
#: What frozen users have is lowered by these fractions, one after the other, where the solver finds
#: no point that keeps all floors to the last digit; the first is no more than a fresh start.
FLOOR_RELAXATIONS: Final = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)
#: Guarantees that are lowered step by step to what nodes hold leave this part of themselves free:
#: programs whose floors use up a server to a millionth are beyond solvers.
GUARANTEE_ROOM: Final = 1e-5
#: A user whose fairness row has at least this fraction of the largest dual price is blocked:
#: complementary slackness proves that it cannot be raised. Smaller prices may be rounding noise and
#: decide nothing.
BLOCKED_PRICE: Final = 1e-5
#: A float quotient of whole numbers, times a level, is within this of its true value, relatively:
#: nearer to a whole number than this, exact arithmetic decides on which side it is.
QUOTIENT_ROUNDING: Final = 2.0**-48
#: What rounding may do to a fluid level, a distance between shapes, or the work left of several
#: jobs that end at once: such numbers are told apart in steps of this, relatively.
LEVEL_ROUNDING: Final = 2.0**-40
#: Demand vectors are proportional when the mantissas of their ratios agree after rounding to this
#: many bits of 53: wide enough for the rounding of a division, far too narrow to change an optimum
#: that anyone could measure.
PROPORTIONAL_BITS: Final = 46
#: Where Newton's method on the prices of one server ends (overuse, complementarity; Σ e = 1); and
#: the part of a user's tasks on one server that an interior point's noise may be.
MARKET: Final = 1e-13
#: An iteration has settled: a sweep of best responses moves at most this fraction of what a user
#: could run alone, levels of Algorithm I are equal, the gap and residuals of interior points are at
#: most this.
SETTLED: Final = 1e-12
#: Feasibility that an integer solver is asked for when it looks for a fixed point of PS-DSF, one
#: after the other: with weights of several orders of magnitude the tightest may leave it no point.
#: Best responses end at the last digit.
MILP_TOLERANCES: Final = (1e-9, 1e-7, 1e-6)
#: An audit calls a property broken when it is missed by more than this, relative to what the user
#: could run alone; a set of fair allocations extends in a direction when it is at least this wide
#: there.
AUDIT: Final = 1e-7
#: A tenant is called short over a period where it lacks more than this part of what was due to it.
PERIOD_SHORT: Final = 0.01
#: Gains beside an allocation of quotas are measured by what a user has, and by no less than this
#: part of what it could run alone: beside less, rounding of a solver would be taken for a gain.
SMALL_PART: Final = 0.01
#: A search for counterexamples takes only violations larger than this, relative, so that rounding
#: never makes one.
SHRINKING_MARGIN: Final = 1e-3
#: Of logarithms and powers interior points accept this, where Newton's method on what is used finds
#: a better point; and of a later round, whose prices multiply the gaps of earlier ones (the answer
#: says what that does to levels).
INTERIOR_ROUGH: Final = 1e-3
#: The Cholesky factors of the equations, of unit diagonal, are shifted by as little as this and as
#: much as that.
INTERIOR_SHIFTS: Final = (1e-14, 1e-4)
#: Where points and prices are computed to many binary places, less than 2 to minus so many of a
#: number about 1 is 0.
EXACT_ZERO_PLACES: Final = 100
#: The error of an interior point from which on the face that it tells may be right already; whether
#: it is, is computed from the face.
INTERIOR_TELLING: Final = 1e-4
#: Where there are very many pairs, interior points stop at these gaps, one after the other, and go
#: on with fewer of them.
INTERIOR_EARLY: Final = (0.2, 0.02)
#: Above this gap the factors of interior points are in single precision.
INTERIOR_ROUGH_FACTORS: Final = 0.01
#: Bounds of integers and limits of whole tasks this near to a whole number are that number
#: (.3/.1 is 3), as HiGHS, SCIP and SciPy read them.
WHOLE: Final = 1e-6
#: A matrix entry of at most this size, where every row and column has been divided by its largest
#: entry, is rounding noise if it cannot matter at any value of its column (inv(L)·L, .1 + .2 − .3).
NOISE_COEFFICIENT: Final = 2.0**-36
#: HiGHS drops matrix entries of at most this size, in the numbers that it is given (after scaling).
SMALLEST_COEFFICIENT: Final = 1e-9
#: Costs are scaled so that the smallest is at least this, as long as the largest is at most one
#: over it: solvers take reduced costs below some 1e-9 for 0, whatever they are beside.
SMALLEST_COST: Final = 1e-6
#: HiGHS takes bounds of at least this size, in the numbers that it is given (after scaling), as
#: infinite.
LARGEST_BOUND: Final = 1e20
#: A column near 0 whose reduced cost is near 0 may be in use or not: by the larger of the two, then
#: as used, then as not.
DOUBTS: Final = (1.0, 1e-4, 1e4)
