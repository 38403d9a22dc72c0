"""From expression trees to a `~fairlp.models.programs.program.Program`, without row loops.

Every term of a linear expression is ``coefficient × variable``, broadcast over the indices of the
row and summed over the rest; it is emitted as one batch of (row, column, value) triples.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, quoted
from ..programs.program import INTEGER, Block, LogTerms, Program, kind_of, with_data
from .arrays import Entries, Labelled, Triples, assemble, mapped_numbers, scalar, times
from .combinations import found_in
from .expressions import (
    Abs,
    Add,
    Along,
    Conditional,
    Constant,
    Data,
    Expression,
    Log,
    Minimum,
    Power,
    Product,
    Quotient,
    Range,
    Relation,
    SumOver,
    children,
    named,
)
from .labels import Indices, axes_of, grid_over, located, shape_of, steps_of, symbols_of, union
from .reals import meeting
from .variables import Element, Parameter, ParameterPart, Variable
from .walks import in_coefficients, uses

if TYPE_CHECKING:
    from .model import Model
    from .tables import Constraint

# Numbers over indices: what expressions without variables come to.


#: Rows for each entry, those that do not exist too, that are renumbered by a table of all of them.
_MOST_RENUMBERED = 16


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Let errors of formulas say what they are of: ``constraint 'capacity': division by zero``."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None


def numbers(node: Expression) -> Labelled:
    """Return the values of an expression without variables."""
    parts = [numbers(child) for child in children(node)]
    match node:
        case Constant():
            return scalar(node.value)
        case ParameterPart() | Data() if node.degree == 0:
            return Labelled(node.indices, node.values)
        case Add():
            signs = [sign for sign, _ in node.addends()]
            total = signs[0] * parts[0].over(node.indices)
            for sign, values_of_part in zip(signs[1:], parts[1:], strict=True):
                total = total + sign * values_of_part.over(node.indices)
            return Labelled(node.indices, total)
        case Product():
            return times(*parts)
        case Quotient():
            return times(parts[0], reciprocal(node))
        case SumOver():
            symbols = symbols_of(parts[0].indices)
            axes = tuple(symbols.index(index.symbol) for index in node.over)
            return Labelled(node.indices, parts[0].values.sum(axis=axes))
        case Along():
            return mapped_numbers(parts[0], node)
        case Abs():
            return Labelled(node.indices, abs(parts[0].over(node.indices)))
        case Minimum():
            columns = [part.over(node.indices) for part in parts]
            return Labelled(node.indices, np.minimum.reduce(np.broadcast_arrays(*columns)))
        case Log() | Power():
            with np.errstate(divide="ignore", invalid="ignore"):
                argument = parts[0].over(node.indices)
                values = np.log(argument) if isinstance(node, Log) else argument**node.exponent
            if not np.isfinite(values).all():
                raise not_finite(node)
            return Labelled(node.indices, values)
    raise ModelError(f"{node} has variables where numbers are expected")


def reciprocal(node: Quotient) -> Labelled:
    """Return 1 over the denominator of a quotient."""
    below = numbers(node.right)
    if not below.values.all():
        raise division_by_zero(node, below.indices, int(np.argmin(below.values != 0)))
    return Labelled(below.indices, 1.0 / below.values)


def division_by_zero(node: Quotient, indices: Indices, place: int) -> ModelError:
    """Return the error that the denominator of a quotient is 0 at a place over indices."""
    element = located(indices, np.unravel_index(place, shape_of(indices)))
    return ModelError(f"division by zero: ({node.right}) is 0{element}")


def not_finite(node: Log | Power) -> ModelError:
    """Return the error that a logarithm or power of numbers is no number."""
    return ModelError(f"{node} is not finite everywhere; expected numbers above 0")


@dataclass
class Term:
    """``coefficient · variable`` (or a number if ``variable`` is None), summed over ``summed``.

    ``summed`` holds the symbols of indices.
    """

    coefficient: Labelled
    variable: Variable | Element | None
    summed: frozenset[str] = frozenset()

    @property
    def indices(self) -> Indices:
        """Indices of the unknowns, summed over or not."""
        return () if self.variable is None else self.variable.indices


@dataclass
class LogTerm:
    """``coefficient · u(argument)``, where u has the slope argument^(−alpha).

    In the end every index is summed over.
    """

    coefficient: Labelled
    argument: Expression
    alpha: float = 1.0
    summed: frozenset[str] = frozenset()

    @property
    def indices(self) -> Indices:
        """Indices of the unknowns, summed over or not."""
        return self.argument.indices


def _sums(term: Term | LogTerm, indices: Indices) -> bool:
    """Whether a term is summed over one of the indices."""
    return not term.summed.isdisjoint(symbols_of(indices))


def sparse(node: Expression) -> Entries | None:
    """Return the numbers of a sparse parameter, or of numbers times one; None otherwise."""
    if node.degree:
        return None
    match node:
        case Parameter() | Data() if not isinstance(node.stored, np.ndarray):
            coordinates = [np.asarray(places) for places in node.stored.coords]
            return Entries(node.indices, coordinates, node.stored.data, coordinates[0])
        case Product():
            for factor, other in ((node.left, node.right), (node.right, node.left)):
                entries = sparse(other)
                if entries is not None:
                    sparse_factor = sparse(factor)
                    if sparse_factor is not None:
                        return entries.times(sparse_factor)
                    return entries.scaled(numbers(factor))
    return None


AnyTerm = Term | LogTerm | Entries
LinearTerms = list[Term | Entries]


def terms(node: Expression) -> list[AnyTerm]:
    """Return an expression as a flat list of terms."""
    if node.degree == 0:
        entries = sparse(node)
        return [Term(numbers(node), None) if entries is None else entries]
    match node:
        case Variable() | Element():
            return [Term(scalar(1.0), node)]
        case Log():
            return [LogTerm(scalar(1.0), node.argument)]
        case Power():
            return [LogTerm(scalar(node.exponent), node.argument, 1.0 - node.exponent)]
        case Add():
            minus = scalar(-1.0)
            signed = ((sign, term) for sign, addend in node.addends() for term in terms(addend))
            return [term if sign > 0 else _scaled(term, minus) for sign, term in signed]
        case Product():
            factor_node, variable_node = (
                (node.left, node.right) if node.right.degree else (node.right, node.left)
            )
            entries = sparse(factor_node)
            if entries is not None:
                return [_times(term, factor_node, entries) for term in terms(variable_node)]
            factor = numbers(factor_node)
            return [_scaled(term, factor) for term in terms(variable_node)]
        case Quotient():
            factor = reciprocal(node)
            return [_scaled(term, factor) for term in terms(node.left)]
        case SumOver():
            return [_summed(term, node.over) for term in terms(node.body)]
        case Along():
            return [_along(term, node) for term in terms(node.body)]
        case Abs():
            raise ModelError(
                f"{node} stands where no absolute value can; it may be in an objective, or {node} "
                "<= b"
            )
        case Minimum():
            raise ModelError(
                f"{node} stands where no least of several can; it may be in the levels of "
                "model.leximin"
            )
    raise ModelError(f"{type(node).__name__} cannot be compiled")


def spread(term: Term) -> Entries:
    """Return a term as triples over its free indices."""
    variable = term.variable
    assert variable is not None
    over = tuple(
        i for i in union(variable.indices, term.coefficient.indices) if i.symbol not in term.summed
    )
    rows, columns, values = emit(term, 0, over, None)
    coordinates = list(np.unravel_index(rows, shape_of(over))) if over else []
    return Entries(over, coordinates, values, columns, variable)


def _times(term: AnyTerm, node: Expression, factor: Entries) -> AnyTerm:
    """Return a term times a sparse parameter."""
    if isinstance(term, LogTerm) or (isinstance(term, Term) and term.variable is None):
        return _scaled(term, numbers(node))
    return (spread(term) if isinstance(term, Term) else term).times(factor)


def _along(term: AnyTerm, node: Along) -> AnyTerm:
    """Return a linear map of a term along an index."""
    assert not isinstance(term, LogTerm)
    if isinstance(term, Term) and term.variable is None:
        return Term(mapped_numbers(term.coefficient, node), None)
    entries = spread(term) if isinstance(term, Term) else term
    if node.index.symbol not in symbols_of(entries.indices):
        return _scaled(term, Labelled((node.to,), node.matrix.sum(axis=1)))
    return entries.along(node)


def _scaled(term: AnyTerm, factor: Labelled) -> AnyTerm:
    if isinstance(term, Entries):
        return term.scaled(factor)
    if _sums(term, factor.indices):  # ∑_t x[t], times c[t]: two indices of one symbol
        if isinstance(term, Term):
            return spread(term).scaled(factor)
        raise ModelError(
            "a sum of logarithms or powers is multiplied by numbers over an index that it is a sum over; sum "
            "over an alias: m = n.alias('m')"
        )
    return replace(term, coefficient=times(term.coefficient, factor))


def _summed(term: AnyTerm, over: Indices) -> AnyTerm:
    if isinstance(term, Entries):
        for index in over:
            term = term.without(index)
        return term
    coefficient = term.coefficient
    summed = set(term.summed)
    symbols_of_term = set(symbols_of(term.indices))
    for index in over:
        symbols = symbols_of(coefficient.indices)
        if index.symbol in symbols_of_term - summed:
            summed.add(index.symbol)
        elif index.symbol in symbols and index.symbol not in summed:
            axis = symbols.index(index.symbol)
            indices = coefficient.indices[:axis] + coefficient.indices[axis + 1 :]
            coefficient = Labelled(indices, coefficient.values.sum(axis=axis))
        else:
            coefficient = Labelled(coefficient.indices, coefficient.values * len(index))
    return replace(term, coefficient=coefficient, summed=frozenset(summed))


def emit(term: Term, start: int, over: Indices, positions: np.ndarray | None) -> Triples:
    """Return the (row, column, value) triples of a term, with rows over ``over`` in C order.

    Only rows in ``positions`` remain.
    """
    variable = term.variable
    assert variable is not None
    strides = dict(zip(symbols_of(over), steps_of(shape_of(over)), strict=True))
    kind = np.int32 if math.prod(shape_of(over)) < 2**31 else np.int64
    indices = variable.indices
    symbols = symbols_of(indices)
    extra = tuple(index for index in over if index.symbol not in symbols)
    coefficient = term.coefficient.over((*indices, *extra))
    tail = shape_of(extra)
    rows: Any = grid_over(tail, [strides[index.symbol] for index in extra], kind)
    columns, coordinates = _columns(variable, start)
    head = columns.shape
    if coordinates is None:
        inner = grid_over(head, [strides.get(index.symbol, 0) for index in indices], kind)
        rows = rows + inner.reshape((*inner.shape, *(1,) * len(tail)))
    else:
        spread = (slice(None), *(None,) * len(tail))
        for coordinate, index in zip(coordinates, indices, strict=True):
            if index.symbol in strides:
                rows = rows + (coordinate * strides[index.symbol]).astype(kind)[spread]
        places = [
            coordinate if length > 1 else 0
            for coordinate, length in zip(coordinates, coefficient.shape, strict=False)
        ]
        coefficient = coefficient[tuple(places)]
        if all(isinstance(place, int) for place in places):
            coefficient = coefficient[None]
    full = (*head, *tail)
    rows = _broadcast(rows, full)
    columns = _broadcast(columns.reshape((*head, *(1,) * len(tail))), full)
    values = _broadcast(coefficient, full)
    if not coefficient.all():
        is_entry = values != 0
        rows = rows[is_entry]
        columns = columns[is_entry]
        values = values[is_entry]
    else:
        rows = rows.ravel()
        columns = columns.ravel()
        values = values.ravel()
    return _kept((rows, columns, values), over, positions)


def _broadcast(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the values over a shape, which they may have."""
    return values if values.shape == shape else np.broadcast_to(values, shape)


def emit_entries(term: Entries, start: int, over: Indices, positions: np.ndarray | None) -> Triples:
    """Return the triples of a term of triples, as `emit` does; a place may occur several times."""
    everywhere = tuple(index for index in over if index.symbol not in symbols_of(term.indices))
    if everywhere:
        term = term.scaled(Labelled(everywhere, np.ones(shape_of(everywhere))))
    triples = term.places(over), term.columns + np.int32(start), term.values
    return _kept(triples, over, positions)


def _kept(triples: Triples, over: Indices, positions: np.ndarray | None) -> Triples:
    """Return the triples of the rows that exist, with the rows counted among these."""
    rows, columns, values = triples
    if positions is None:
        return rows.astype(np.int32, copy=False), columns, values
    grid = math.prod(shape_of(over))
    if grid <= _MOST_RENUMBERED * len(rows):
        renumber = np.full(grid, -1, dtype=np.int32)
        renumber[positions] = np.arange(len(positions), dtype=np.int32)
        rows = renumber[rows]
        exists = rows >= 0
        return rows[exists], columns[exists], values[exists]
    exists, ranks = found_in(positions, rows)
    return ranks.astype(np.int32), columns[exists], values[exists]


def _columns(node: Any, start: int) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
    """Return the columns of a variable or of some of its elements, and their coordinates.

    The coordinates are None for all elements of a grid.
    """
    elements, places = node._elements()
    columns = (start + elements).astype(np.int32)
    shape = shape_of(node.indices)
    if places is None:
        return columns.reshape(shape), None
    return columns, np.unravel_index(places, shape) if shape else ()


def compile_rows(
    expression: Expression,
    starts: dict[str, int],
    over: Indices,
    positions: np.ndarray | None = None,
) -> tuple[list[Triples], np.ndarray]:
    """Return the triples and constants of an expression, one row for each element of ``over``."""
    linear_terms = linear(expression)
    return _emitted(linear_terms, starts, over, positions), _constants(
        linear_terms, over, positions
    )


def _emitted(
    linear_terms: LinearTerms, starts: dict[str, int], over: Indices, positions: np.ndarray | None
) -> list[Triples]:
    """Return the triples of the terms with variables.

    The terms of single elements make one batch, which comes last.
    """
    singles: list[Term] = []
    batches: list[Triples] = []
    for term in linear_terms:
        if isinstance(term, Term) and _is_single(term):
            singles.append(term)
        elif term.variable is not None:
            batches.append(emitted(term, starts, over, positions))
    if len(singles) > 1:
        batches.append(emit_entries(_side_by_side(singles, starts), 0, over, positions))
    elif singles:
        batches.append(emitted(singles[0], starts, over, positions))
    return batches


def _is_single(term: Term) -> bool:
    """Whether a term is a number times one element of a variable."""
    variable = term.variable
    if variable is None or variable.indices or term.coefficient.indices:
        return False
    return isinstance(variable, Element) or variable.size == 1


def _side_by_side(singles: list[Term], starts: dict[str, int]) -> Entries:
    """Return numbers times single elements as triples over nothing, in the program's columns.

    A sum of 100,000 elements that were added one after the other is so about as quick as a sum over
    an index.
    """
    columns = np.empty(len(singles), dtype=np.int32)
    values = np.empty(len(singles))
    of_variable: dict[str, list[int]] = {}
    for k, term in enumerate(singles):
        assert term.variable is not None
        values[k] = term.coefficient.values
        columns[k] = starts[term.variable.base.name]
        if isinstance(term.variable, Element):
            of_variable.setdefault(term.variable.name, []).append(k)
    for members in of_variable.values():
        elements: list[Any] = [singles[k].variable for k in members]
        base = elements[0].base
        places = np.array([element.places for element in elements], dtype=np.intp).T
        offsets = np.ravel_multi_index(tuple(places), base.shape)
        columns[members] += (
            offsets if base.positions is None else np.searchsorted(base.positions, offsets)
        )
    return Entries((), [], values, columns)


def emitted(
    term: Term | Entries, starts: dict[str, int], over: Indices, positions: np.ndarray | None
) -> Triples:
    """Return the triples of one term with a variable."""
    assert term.variable is not None
    start = starts[term.variable.base.name]
    if isinstance(term, Term) and _sums(term, over):
        term = spread(term)
    if isinstance(term, Entries):
        return emit_entries(term, start, over, positions)
    return emit(term, start, over, positions)


def _constants(
    linear_terms: LinearTerms, over: Indices, positions: np.ndarray | None
) -> np.ndarray:
    """Return the sum of the terms without variables, for each row."""
    count = math.prod(shape_of(over)) if positions is None else len(positions)
    constant = np.zeros(count)
    for term in linear_terms:
        if term.variable is None:
            numbers_of_term = term.coefficient if isinstance(term, Term) else term
            constant += numbers_of_term.rows(over, positions)
    return constant


def linear(expression: Expression) -> LinearTerms:
    """Return the terms of an expression without logarithms."""
    return [term for term in terms(expression) if not isinstance(term, LogTerm)]


def terms_of(row: Constraint) -> LinearTerms:
    """Return the terms of what the rows of a block are made of."""
    relation = unconditional(row)
    with naming(f"constraint {row.name!r}"):
        return linear(relation.body)


def unconditional(row: Constraint) -> Relation:
    """Return a block's relation, with ``body <= M·(1 − condition)`` for a conditional one.

    The least M is the most that the body can be by the bounds of its variables, or what the user
    says it is.
    """
    relation = row.relation
    if not isinstance(relation, Conditional):
        return relation
    body = relation.body if relation.comparison == "<=" else -relation.body
    shape = shape_of(row.over)
    variables = {leaf.name: leaf for leaf in named(body) if isinstance(leaf, Variable)}.values()
    columns = blocks_of(variables)
    starts = starts_of(columns)
    with naming(f"constraint {row.name!r}"):
        linear_terms = linear(body)
        A = assemble(
            _emitted(linear_terms, starts, row.over, row.positions),
            (row.size, sum(map(len, columns))),
            "csr",
        )
        named_m = (
            None
            if relation.big_m is None
            else numbers(relation.big_m).rows(row.over, row.positions)
        )
    low, high = bounds_of(variables)
    largest = A.data * np.where(A.data > 0, high[A.indices], low[A.indices])
    of = A.tocoo(copy=False).row
    constant = _constants(linear_terms, row.over, row.positions)
    largest[np.isneginf(constant[of])] = 0.0  # rows that never bind
    largest_bodies = np.bincount(of, largest, row.size) + constant
    if named_m is not None:
        largest_bodies = np.minimum(largest_bodies, named_m)
    _refuse_condition(
        row,
        relation,
        columns,
        A.indices[np.isposinf(largest) & np.isposinf(largest_bodies)[of]],
        named_m,
    )
    dense = np.zeros(math.prod(shape))
    dense[slice(None) if row.positions is None else row.positions] = np.maximum(largest_bodies, 0.0)
    condition = 1 - relation.condition if relation.active else relation.condition
    return Relation(body, "<=", Data("M", row.over, dense.reshape(shape)) * condition)


def _refuse_condition(
    row: Constraint,
    relation: Conditional,
    columns: list[Block],
    endless: np.ndarray,
    named_m: np.ndarray | None,
) -> None:
    """Raise for an unknown M or for a condition that is no binary any more.

    ``endless`` marks the columns of variables that lack a bound.
    """
    subject = f"constraint {row.name!r}: {relation}"
    if named_m is not None and (named_m < 0).any():
        raise ModelError(
            f"{subject} has a big_m of {named_m.min():g}; expected by how much it can be missed at most"
        )
    for leaf in named(relation.condition):
        if isinstance(leaf, Variable) and ((leaf.lower < 0) | (leaf.upper > 1)).any():
            raise ModelError(
                f"{subject} depends on {quoted(leaf)}, which is no binary any more; give it bounds of 0 "
                "and 1"
            )
    if endless.size:
        block = next(block for block in columns if endless[0] < block.stop)
        raise ModelError(
            f"{subject} needs to know how large {block.name_of(endless[0] - block.start)} can be; "
            "give variable "
            f"{block.name!r} bounds, or say with big_m= by how much the relation can be missed at "
            "most"
        )


def blocks_of(variables: Iterable[Variable]) -> list[Block]:
    """Return the columns of variables, a block each, one after the other."""
    blocks: list[Block] = []
    start = 0
    for variable in variables:
        axes = axes_of(variable.indices)
        blocks.append(Block(variable.name, axes, start, start + variable.size, variable.positions))
        start += variable.size
    return blocks


def starts_of(columns: Iterable[Block]) -> dict[str, int]:
    """Return the first column of each variable."""
    return {block.name: block.start for block in columns}


def bounds_of(variables: Iterable[Variable]) -> list[np.ndarray]:
    """Return the lower and the upper bounds of the columns of variables."""
    return [
        np.concatenate([np.zeros(0), *(getattr(variable, side) for variable in variables)])
        for side in ("lower", "upper")
    ]


def entries(
    row: Constraint, linear_terms: LinearTerms, starts: dict[str, int], n_columns: int
) -> list[Triples]:
    """Return the triples of a block's rows, counted from 0; no place occurs twice.

    Entries of one place are added here, block by block: the sum of floats must not depend on what
    else the matrix has.
    """
    with naming(f"constraint {row.name!r}"):
        triples = _emitted(linear_terms, starts, row.over, row.positions)
    names = [term.variable.base.name for term in linear_terms if term.variable is not None]
    once = len(set(names)) == len(names)
    if once and not any(isinstance(term, Entries) for term in linear_terms):
        return triples
    matrix = assemble(triples, (row.size, n_columns), "csc").tocoo()
    rows, columns = matrix.coords
    return [(rows.astype(np.int32), columns.astype(np.int32), matrix.data)]


def sides(row: Constraint, linear_terms: LinearTerms) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper bounds of the rows of a block with these terms."""
    constant = _constants(linear_terms, row.over, row.positions)
    if isinstance(row.relation, Range):
        row.check()
        low, high = (
            np.full(row.size, none)
            if end is None
            else numbers(end).rows(row.over, row.positions) - constant
            for end, none in zip(row.relation.ends, (-np.inf, np.inf), strict=True)
        )
        low = meeting(low, high)
    else:
        bound = 0.0 - constant
        kind = "<=" if isinstance(row.relation, Conditional) else row.relation.comparison
        low = np.full(row.size, -np.inf) if kind == "<=" else bound
        high = np.full(row.size, np.inf) if kind == ">=" else bound
    return low, high


def compile_model(model: Model) -> Program:
    """Compile a model; see :meth:`Model.compile`."""
    variables = model._variables.values()
    columns = blocks_of(variables)
    n_columns = sum(map(len, columns))
    starts = starts_of(columns)
    triples: list[Triples] = []
    blocks: list[Block] = []
    ends: list[tuple[np.ndarray, np.ndarray]] = []
    switched: list[np.ndarray] = []
    stop = 0
    for row in model._constraints.values():
        linear_terms = terms_of(row)
        batch = entries(row, linear_terms, starts, n_columns)
        start = stop
        stop = stop + row.size
        blocks.append(row.block(start))
        triples += [
            (rows if start == 0 else rows + np.int32(start), entry_columns, values)
            for rows, entry_columns, values in batch
        ]
        ends.append(sides(row, linear_terms))
        if isinstance(row.relation, Conditional):
            switched.append(np.arange(start, stop))
    with naming("the objective"):
        cost, offset, logs = objective(model, model.objective, starts, n_columns)
    A = assemble(triples, (stop, n_columns), "csc")  # first: it frees the triples
    row_lower, row_upper = (
        np.concatenate([np.zeros(0), *(pair[side] for pair in ends)]) for side in (0, 1)
    )
    col_lower, col_upper = bounds_of(variables)
    return Program(
        name=model.name,
        sense=model._sense,
        c=cost,
        offset=offset,
        A=A,
        row_lower=row_lower,
        row_upper=row_upper,
        col_lower=col_lower,
        col_upper=col_upper,
        integrality=np.repeat(
            np.array([INTEGER * v.integer for v in variables], dtype=np.uint8),
            [v.size for v in variables],
        ),
        rows=tuple(blocks),
        columns=tuple(columns),
        logs=logs,
        source=model.source,
        levels=model._levels if model._levels in model._constraints else "",
        switched=np.concatenate([np.zeros(0, dtype=np.int64), *switched]),
        parameters=_numbers_of_parameters(model),
    )


def _numbers_of_parameters(model: Model) -> dict[str, tuple[Any, Any]]:
    """Return the axes and the numbers of each parameter, by name.

    What is stored of a parameter never changes: ``set`` and ``extend`` store something else.
    """
    return {
        name: (axes_of(parameter.indices), parameter.stored)
        for name, parameter in model._parameters.items()
    }


def objective(
    model: Model, expression: Expression | None, starts: dict[str, int], n_columns: int
) -> tuple[np.ndarray, float, LogTerms | None]:
    """Return the costs, the constant, and the logarithms and powers of an objective."""
    cost = np.zeros(n_columns)
    offset = 0.0
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # weights, constants and alphas
    batches: list[Triples] = []
    size = 0
    plain: LinearTerms = []
    for term in terms(expression) if expression is not None else ():
        if isinstance(term, LogTerm):
            over = union(term.argument.indices, term.coefficient.indices)
            triples, constant = compile_rows(term.argument, starts, over)
            batches += [
                (rows + np.int32(size), costed_columns, values)
                for rows, costed_columns, values in triples
            ]
            parts.append(
                (term.coefficient.rows(over, None), constant, np.full(len(constant), term.alpha))
            )
            size += len(constant)
        elif term.variable is None:
            offset += float(_constants([term], (), None)[0])
        else:
            plain.append(term)
    for _, costed_columns, values in _emitted(plain, starts, (), None):
        np.add.at(cost, costed_columns, values)
    for name, absolute in model._absolutes.items():
        weight = cost[starts[name] : starts[name] + model._variables[name].size]
        worst = weight.min(initial=0.0) if model.sense == "min" else weight.max(initial=0.0)
        if worst:
            raise ModelError(
                f"the weight of {absolute} is {worst:g}, and to {model.sense}imize that is not convex: it needs "
                "integers; expected weights of the other sign"
            )
    if not parts:
        return cost, offset, None
    weight, constant, alpha = map(np.concatenate, zip(*parts, strict=True))
    concave = weight * np.sign(alpha)  # a square is convex
    refused = concave < 0 if model.sense == "max" else concave > 0
    for found in weight[refused][:1].tolist():
        raise ModelError(
            f"model {model.name!r}: the weights of logarithms, powers (times their exponents) and squares make "
            f"no concave problem to {model.sense}imize; found {found:g}"
        )
    inner = assemble(batches, (size, n_columns), "csr")
    is_used = weight != 0  # a term of weight 0 adds nothing, also where its argument is 0
    if not is_used.any():
        return cost, offset, None
    if not is_used.all():
        weight = weight[is_used]
        inner = inner[is_used]
        constant = constant[is_used]
        alpha = alpha[is_used]
    return cost, offset, LogTerms(kind_of(alpha), weight, inner, constant, alpha)


# A compiled program brought up to date after parameters or bounds were set: only what they stand in
# is compiled.


def patched(model: Model, program: Program, stale: Collection[str]) -> Program:
    """Return the program with the new numbers of the parameters and variables in ``stale``.

    Parameters
    ----------
    model : Model
    program : Program
        What it was compiled to before.
    stale : collection of str
        Names of parameters whose values, and of variables whose bounds are others now.
    """
    starts = starts_of(program.columns)
    numbers = [name for name in stale if name not in starts]
    parts: dict[str, Any] = {}
    matrix = _Matrix(program.A)
    for row, block in zip(model._constraints.values(), program.rows, strict=True):
        switched = isinstance(row.relation, Conditional)  # its M depends on the bounds of variables
        if not uses(stale if switched else numbers, *row.relation.parts):
            continue
        linear_terms = terms_of(row)
        if switched or in_coefficients(numbers, row.relation.body):
            batch = entries(row, linear_terms, starts, program.n_columns)
            matrix.replace(
                block.start, block.stop, assemble(batch, (len(block), program.n_columns), "csc")
            )
        for name, side in zip(("row_lower", "row_upper"), sides(row, linear_terms), strict=True):
            if name not in parts:
                parts[name] = getattr(program, name).copy()
            parts[name][block.slice] = side
    if model.objective is not None and uses(numbers, model.objective):
        with naming("the objective"):
            parts["c"], parts["offset"], parts["logs"] = objective(
                model, model.objective, starts, program.n_columns
            )
    if len(numbers) < len(stale):
        parts["col_lower"], parts["col_upper"] = bounds_of(model._variables.values())
    return program.replace(A=matrix.array(), parameters=_numbers_of_parameters(model), **parts)


class _Matrix:
    """A sparse array by columns in which rows can be replaced; the original stays as it is."""

    def __init__(self, array: Any) -> None:
        self.original = array
        self.data: np.ndarray | None = None
        self.gone: np.ndarray | None = None
        self.batches: list[Triples] = []

    def replace(self, start: int, stop: int, rows: Any) -> None:
        """Replace rows ``start:stop`` by those of another array.

        It happens in place where the entries are the same.
        """
        original = self.original
        inside = (original.indices >= start) & (original.indices < stop)
        positions = np.flatnonzero(inside)
        has_same_entries = (
            len(positions) == rows.nnz
            and np.array_equal(np.searchsorted(positions, original.indptr), rows.indptr)
            and np.array_equal(original.indices[positions] - start, rows.indices)
        )
        if has_same_entries:
            if self.data is None:
                self.data = original.data.copy()
            self.data[positions] = rows.data
            return
        self.gone = inside if self.gone is None else self.gone | inside
        coordinates = rows.tocoo()
        self.batches.append(
            (
                (coordinates.coords[0] + start).astype(np.int32),
                coordinates.coords[1].astype(np.int32),
                coordinates.data,
            )
        )

    def array(self) -> Any:
        """Return the array with what was replaced; the given one where nothing was."""
        original = self.original
        data = original.data if self.data is None else self.data
        if self.gone is not None:
            remains = ~self.gone
            places = original.tocoo(copy=False)
            remaining = (
                places.row[remains].astype(np.int32),
                places.col[remains].astype(np.int32),
                data[remains],
            )
            return assemble([remaining, *self.batches], original.shape, "csc")
        if self.data is None:
            return original
        return with_data(original, data)
