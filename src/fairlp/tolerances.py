"""Every tolerance of fairlp: one name, one value, one home.

All are relative: to the size of the numbers that a comparison is made of (see each comment), never to 1.
"""

from __future__ import annotations

from typing import Final

#: Primal feasibility that solvers are asked for, and that a certified result keeps, relative to a row's terms.
FEASIBILITY: Final = 1e-9
#: Dual feasibility that solvers are asked for, relative to a column's terms.
OPTIMALITY: Final = 1e-9
#: What first-order methods (PDLP, SCS, OSQP), which gain digits slowly, and SCIP are asked for.
FIRST_ORDER: Final = 1e-8
#: The tightest tolerance that HiGHS accepts; the rounds of a leximin use it, so that errors do not add up.
SOLVER_TIGHTEST: Final = 1e-10
#: A solution is called verified when residuals and duality gap, relative, are at most this.
VERIFIED: Final = 1e-7
#: A row without a right-hand side is measured against at least this fraction of what its variables could reach: with
#: VERIFIED, what is below 1e-12 of that is rounding noise.
NEGLIGIBLE: Final = 1e-5
#: A sum of logarithms solved by tangents ends when its certified gap, relative, is at most this.
TANGENT_GAP: Final = 1e-8
#: … and its optimality conditions hold to this, as far as the solver can tell such small segments apart: an objective
#: right to 1e-8 is at a point that is right to 1e-4 only.
TANGENT_CONDITIONS: Final = 1e-9
#: The conformance suite: how far answers of any back end, first-order methods included, may be from right.
CONFORMANCE: Final = 1e-6
#: The same for the optimality conditions of logarithms through cone solvers: an objective right to g is at a point that
#: is right to √g only.
CONFORMANCE_LOGS: Final = 1e-4
#: Numbers of an instance that are smaller than this part of the largest of their kind are beside a solver's rounding:
#: levels are settled in rationals then, or said not to be proved.
DELICATE: Final = 1e-6
#: Levels that errors of earlier rounds may have moved by more than this, relatively, are settled in rationals, or said
#: not to be proved.
UNCERTAIN: Final = 1e-8
#: Two allocations (totals or shares) are called equal when they differ by at most this, relative to the larger.
AGREEMENT: Final = 1e-9
#: A resource counts as saturated when what is left is at most this fraction of its capacity.
SATURATED: Final = 1e-11
#: What is left of a capacity by the rounding of a sum over its users: at most this fraction of it.
ROUNDING: Final = 2.0**-50
#: Levels of leximin rounds that differ by at most this, relatively, are one level.
SAME_LEVEL: Final = 1e-9
#: The same where a back end gives no duals, and a raise by less is its tolerance rather than room.
UNPRICED_LEVEL: Final = 1e-6
#: What frozen users have is lowered by these fractions, one after the other, where the solver finds no point that keeps
#: all floors to the last digit; the first is no more than a fresh start.
FLOOR_RELAXATIONS: Final = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)
#: A user whose fairness row has at least this fraction of the largest dual price is blocked: complementary
#: slackness proves that it cannot be raised. Smaller prices may be rounding noise and decide nothing.
BLOCKED_PRICE: Final = 1e-5
#: A float quotient of whole numbers, times a level, is within this of its true value, relatively: nearer to a whole
#: number than this, exact arithmetic decides on which side it is.
QUOTIENT_ROUNDING: Final = 2.0**-48
#: A fluid level is lowered (or raised) by this, relatively, before what lies below it is counted exactly.
LEVEL_ROUNDING: Final = 2.0**-40
#: Demand vectors are proportional when the mantissas of their ratios agree after rounding to this many bits of 53:
#: wide enough for the rounding of a division, far too narrow to change an optimum that anyone could measure.
PROPORTIONAL_BITS: Final = 46
#: Entitlements sum to one within this.
ENTITLEMENT_SUM: Final = 1e-9
#: No justified complaints: a resource counts as saturated, a request as granted and an entitlement as given when at
#: most this fraction of it is missing.
COMPLAINT: Final = 1e-9
#: The same where a solver gave the Eisenberg–Gale optimum: an objective right to g is at a point that is right to √g.
CONVEX_COMPLAINT: Final = 1e-4
#: α-fairness: a mean level counts as the largest when a bound from prices exceeds it by at most this, relatively; and
#: levels as settled when what they cost is what they are worth to within this (where they are not, the answer says so).
MEAN_LEVEL: Final = 1e-8
SETTLED_LEVELS: Final = 1e-6
#: Whoever is this near to its task limit, relatively, may be held back by it, in such a bound.
AT_LIMIT: Final = 1e-6
#: Optimality conditions of the Eisenberg–Gale program of one server (overuse, complementarity; Σ e = 1), where Newton's
#: method on prices ends.
MARKET: Final = 1e-13
#: Error of one step of the integrator along the trajectory, relative to x; and relative to slacks and to what is left
#: of requests, of which the last digits are noise where more resources than users are saturated.
PATH_STEP: Final = 1e-9
PATH_SLACK: Final = 1e-6
#: How well a point that Newton follows lies on the trajectory, relative to c·e.
PATH_CORRECTION: Final = 1e-9
#: How far granted fractions at the end of the trajectory may be from its limit, relative.
PATH_LIMIT: Final = 1e-6
#: A set of fair allocations extends in a direction when it is at least this wide there (granted fractions, 0 to 1), and
#: vertices are different when they are at least this far apart.
POLYTOPE_WIDTH: Final = 1e-7
#: Best responses of servers have settled when a sweep moves at most this fraction of what a user could run alone there.
SWEEP_CHANGE: Final = 1e-12
#: Algorithm I of PS-DSF: levels that exceed the lowest on a server by at most this, relatively, are the lowest too.
LOWEST_LEVELS: Final = 1e-12
#: Feasibility that an integer solver is asked for when it looks for a fixed point of PS-DSF, one after the other: with
#: weights of several orders of magnitude the tightest may leave it no point. Best responses end at the last digit.
MILP_TOLERANCES: Final = (1e-9, 1e-7, 1e-6)
#: An allocation is PS-DSF when no user could gain more than this fraction of what it could run alone on a server by
#: taking from users whose levels there are higher by more than this fraction.
FIXED_POINT: Final = 1e-9
#: An audit calls a property broken when it is missed by more than this, relative to what the user could run alone.
AUDIT: Final = 1e-7
#: A search for counterexamples takes only violations larger than this, relative, so that rounding never makes one.
SHRINKING_MARGIN: Final = 1e-3
#: Distances between the shapes of tasks and servers (Best-Fit) are told apart in steps of this; equal ones go by order.
SAME_DISTANCE: Final = 2.0**-40
#: A divisible job has ended when at most this fraction of its work is left: what rounding leaves of several that end
#: at once.
WORK_DONE: Final = 2.0**-40
#: The interior-point method aims at this gap and these residuals, relative, and accepts these where rounding ends it.
INTERIOR_AIM: Final = 1e-12
INTERIOR_ACCEPTED: Final = 1e-8
#: Of logarithms and powers it accepts this, where Newton's method on what is used and full finds a better point.
INTERIOR_ROUGH: Final = 1e-3
#: The Cholesky factors of its equations, of unit diagonal, are shifted by as little as this and as much as that.
INTERIOR_SHIFTS: Final = (1e-14, 1e-4)
#: It aims at products of no less than this part of what they are.
INTERIOR_CENTRING: Final = 1e-6
#: Of a product that is 0 at the optimum, the factor that is below this part of the other is noise (both are relative
#: to the largest that they could be); of a user's tasks, no more than that part on one server is.
INTERIOR_NOISE: Final = 1e-6
INTERIOR_NEGLIGIBLE: Final = 1e-13
#: Of a concave optimum: a column that is in use, and one that would cost something, are told apart by this part.
INTERIOR_UNCLEAR: Final = 1e-10
#: Where there are very many pairs, it stops at this gap and goes on with few of them.
INTERIOR_EARLY: Final = 3e-3
#: The matrix-free method ends a round when its certified gap, relative, is at most this, unless another is asked for.
MATRIX_FREE_AIM: Final = 1e-4
#: Reduced costs are computed anew where what was rounded off them is at most this part of them.
MATRIX_FREE_DRIFT: Final = 0.01
#: Whoever has stopped keeps its level in later rounds, but for this part of the aim: they need some room.
MATRIX_FREE_FLOOR: Final = 0.1
#: Whoever has its cap but for this part of the aim rises no further with its round.
MATRIX_FREE_CAP: Final = 0.01
#: A round whose gap stays above this, relative, decides nothing, and ends the rounds of its component.
MATRIX_FREE_SETTLED: Final = 1e-2
#: HiGHS drops matrix entries of at most this size, in the numbers that it is given (after scaling).
SMALLEST_COEFFICIENT: Final = 1e-9
#: Costs are scaled so that the smallest is at least this, as long as the largest is at most one over it: solvers take
#: reduced costs below some 1e-9 for 0, whatever they are beside.
SMALLEST_COST: Final = 1e-6
#: HiGHS takes bounds of at least this size, in the numbers that it is given (after scaling), as infinite.
LARGEST_BOUND: Final = 1e20
#: A task count is a whole number when it is this close to one, relative to its size (for display only).
WHOLE_TASK: Final = 1e-9
