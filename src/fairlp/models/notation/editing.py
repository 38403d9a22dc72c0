"""Edits of a model, checked before anything changes: constraints declared and replaced, names removed, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from .entries import Constraint, Subset, subset_of
from .expressions import Parameter, Variable
from .indices import Index, union
from .nodes import Expression, Relation
from .trees import mapped, mapped_relation, named, uses

if TYPE_CHECKING:
    from .declarations import Declarations
    from .model import Model


def check_own(model: Declarations, what: str, *expressions: Expression) -> None:
    """Raise where an expression has a variable or parameter of another model, or one that was removed."""
    for leaf in named(*expressions):
        kind, table = ("variable", model._variables) if isinstance(leaf, Variable) else ("parameter", model._parameters)
        if table.get(leaf.name) is leaf:
            continue
        remedy = f"take model[{leaf.name!r}] of {model.name!r}" if leaf.name in table else f"declare it with .{kind}"
        raise ModelError(f"{what} uses {kind} {leaf.name!r}, which is of another model or was removed; {remedy}")


def declared(
    model: Declarations, name: str, relation: Relation, over: tuple[Index, ...], where: Any, doc: str
) -> Constraint:
    """Return a constraint of a model, checked; the model learns its indices."""
    if not isinstance(relation, Relation):
        raise ModelError(
            f"constraint {name!r}: expected left <= right, >=, ==, or expression.between(low, high), not "
            f"{type(relation).__name__}"
        )
    check_own(model, f"constraint {name!r}", *relation.parts)
    indices = union(model.indices, relation.indices)
    free = {index.symbol for index in relation.indices}
    order = over or tuple(index for index in indices if index.symbol in free)
    if {index.symbol for index in order} != free:
        raise ModelError(
            f"constraint {name!r} holds for each of ({', '.join(sorted(free))}), "
            f"but over=({', '.join(index.symbol for index in order)}) was given"
        )
    made = Constraint(name, relation, order, subset_of(where, order, f"constraint {name!r}"), doc, model)
    made.check()
    model._indices = indices
    return made


def replaced(model: Declarations, name: str | Constraint, relation: Relation, where: Any) -> Constraint:
    """Return what takes the place of a constraint; see :meth:`Model.replace`."""
    kind, own, old = _of(model, name)
    if not isinstance(old, Constraint):
        raise ModelError(f"{own!r} is a {kind}; only constraints are replaced")
    same = isinstance(relation, Relation) and {i.symbol for i in relation.indices} == {i.symbol for i in old.over}
    if where is ... and not same and old.where is not None and isinstance(relation, Relation):
        was, now = (",".join(index.symbol for index in one) for one in (old.over, relation.indices))
        raise ModelError(
            f"constraint {old.name!r} holds for some of ({was}), and the new relation for each of ({now}); "
            "say with where=… for which (None: all)"
        )
    return declared(model, old.name, relation, old.over if same else (), old.where if where is ... else where, old.doc)


def removed(model: Declarations, name: Any) -> None:
    """Remove what has a name, or what a handle stands for; see :meth:`Model.remove`."""
    kind, own, found = _of(model, name)
    places = _where_used(model, found) if kind not in ("constraint", "definition") else []
    if places:
        raise ModelError(
            f"{kind} {own!r} is used in {_listed(places)} of model {model.name!r}; remove or replace first what uses it"
        )
    model._table(kind).pop(own)


def copied(model: Model) -> Model:
    """Return an independent copy; see :meth:`Model.copy`."""
    made = type(model)(model.name, model.source, model.indices)
    leaves: dict[str, Parameter | Variable] = {}
    for name, one in model.parameters.items():
        made._parameters[name] = leaves[name] = Parameter(name, one.indices, one.values, one.doc, model=made)
    for name, variable in model.variables.items():
        made._variables[name] = leaves[name] = Variable(
            name,
            variable.indices,
            where=variable.where,
            bounds=(variable.lower, variable.upper),
            integer=variable.integer,
            doc=variable.doc,
            model=made,
        )
    made._subsets.update(model.subsets)
    for name, row in model.constraints.items():
        relation = mapped_relation(row.relation, leaves)
        made._constraints[name] = Constraint(name, relation, row.over, row.where, row.doc, made)
    made._definitions.update({name: mapped(node, leaves) for name, node in model.definitions.items()})
    made._sense, made._levels = model.sense, model._levels
    made._objective = None if model.objective is None else mapped(model.objective, leaves)
    made._program, made._stale = model._program, set(model._stale)
    return made


def _of(model: Declarations, name: Any) -> tuple[str, str, Any]:
    """Return what a name or a handle stands for in a model: its kind, its name and itself."""
    if isinstance(name, str):
        return (*model.kind_of(name), model[name])
    # the one over other symbols is the same
    found: Any = name.base if isinstance(name, (Parameter, Variable)) else name
    if not isinstance(found, (Constraint, Parameter, Variable, Subset)):
        kind = type(name).__name__
        raise ModelError(f"a {kind} is no handle; expected a name, or a constraint, variable, parameter or subset")
    kind, own = type(found).__name__.lower(), str(found.name)
    if model._table(kind).get(own) is found:
        return kind, own, found
    raise ModelError(
        f"{kind} {own!r} is of another model, or was removed or replaced; take model[{own!r}] of {model.name!r}"
    )


def _where_used(model: Declarations, found: Any) -> list[str]:
    """Return where a parameter, variable or subset is used, in words."""
    if isinstance(found, Subset):
        blocks = [("variable", model.variables), ("constraint", model.constraints)]
        return [f"{kind} {name!r}" for kind, table in blocks for name, one in table.items() if one.where is found]  # type: ignore[attr-defined]
    own = (found.name,)
    places = [f"constraint {name!r}" for name, row in model.constraints.items() if uses(own, *row.relation.parts)]
    places += ["the objective"] if model.objective is not None and uses(own, model.objective) else []
    return places + [f"definition {name!r}" for name, node in model.definitions.items() if uses(own, node)]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def handle(model: Declarations, name: Any) -> Any:
    """Return what a name or a handle stands for in a model."""
    return _of(model, name)[2]
