"""Edits of a model, checked before anything changes: what is replaced, removed or copied."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from ...errors import ModelError, quoted
from .expressions import Abs, Expression, Relation
from .labels import symbols_of
from .switches import parts_of
from .tables import Constraint, declared
from .variables import Parameter, Subset, Variable
from .walks import mapped, mapped_relation, rebuilt, uses

if TYPE_CHECKING:
    from .model import Declarations, Model


def replaced(
    model: Declarations, name: str | Constraint, relation: Relation, where: Any
) -> Constraint:
    """Return what takes the place of a constraint; see :meth:`Model.replace`."""
    kind, full_name, old = _of(model, name)
    _refuse_part(model, kind, full_name)
    if not isinstance(old, Constraint):
        raise ModelError(f"{full_name!r} is a {kind}; only constraints are replaced")
    if (kind, full_name) in model._owners.values():
        raise ModelError(
            f"constraint {full_name!r} has variables or rows of its own; remove it, and declare it anew"
        )
    has_same_indices = isinstance(relation, Relation) and set(symbols_of(relation.indices)) == set(
        symbols_of(old.over)
    )
    is_relation = isinstance(relation, Relation)
    if where is ... and is_relation and not has_same_indices and not old._mask._is_full:
        raise ModelError(
            f"constraint {old.name!r} holds for some labels, and the new relation runs over other indices; say "
            "with where=… for which (None: all)"
        )
    if where is ...:
        stays = is_relation and set(old.over) == set(relation.indices)
        where = old._mask if stays or not old._mask._is_full else None
    return declared(
        model,
        old.name,
        relation,
        old.over if has_same_indices else (),
        where,
        old.doc,
    )


def removed(model: Declarations, name: Any) -> None:
    """Remove what has a name, or what a handle stands for; see :meth:`Model.remove`."""
    kind, full_name, block = _of(model, name)
    _refuse_part(model, kind, full_name)
    parts = _parts(model, kind, full_name)
    used = [model._table(of)[part_name] for of, part_name in parts if of == "variable"]
    used += [] if kind in ("constraint", "definition") else [block]
    places = [
        place
        for used_block in used
        for place in _outside(model, used_block, [(kind, full_name), *parts])
    ]
    if places:
        raise ModelError(
            f"{kind} {full_name!r} is used in {', '.join(places)}; remove or replace first what uses it"
        )
    _drop(model, kind, full_name)


def _parts(model: Declarations, kind: str, name: str) -> list[tuple[str, str]]:
    """Return what was declared together with a variable or constraint, by kind and name."""
    return [block for block, owner in model._owners.items() if owner == (kind, name)]


def _drop(model: Declarations, kind: str, name: str) -> None:
    """Remove what has a name, with what was declared together with it."""
    for block in _parts(model, kind, name):
        del model._owners[block]
        model._table(block[0]).pop(block[1])
        model._curves.pop(block[1], None)
    model._table(kind).pop(name)


def _outside(model: Declarations, block: Any, parts: list[tuple[str, str]]) -> list[str]:
    """Return where a variable, parameter or subset is used, in words, but for some constraints."""
    if isinstance(block, Subset):
        blocks = [("variable", model.variables), ("constraint", model.constraints)]
        places = [
            f"{kind} {name!r}"
            for kind, table in blocks
            for name, table_block in table.items()
            if isinstance(table_block, (Variable, Constraint))
            and table_block._mask._source is block
        ]
    else:
        names = (block.name,)
        places = [
            f"constraint {name!r}"
            for name, row in model.constraints.items()
            if uses(names, *row.relation.parts)
        ]
        places += ["the objective"] if uses(names, *model.objectives) else []
        places += [
            f"definition {name!r}" for name, node in model.definitions.items() if uses(names, node)
        ]
    inside = {f"{kind} {name!r}" for kind, name in parts}
    return [place for place in places if place not in inside]


#: Rows of the variable that stands for an absolute value: name of the variable and this.
_ABOVE = "_above"
_BELOW = "_below"


def with_absolutes(
    model: Declarations, objectives: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """Return objectives with a variable for each absolute value; the former variables go.

    The variable is at least the argument and its negative: two families of rows.
    """
    old = dict(model._absolutes)

    def restored(node: Expression) -> Expression | None:
        return (
            old.get(node.name)
            if isinstance(node, Variable)
            else node
            if isinstance(node, Abs)
            else None
        )

    new_objectives = tuple(rebuilt(objective, restored) for objective in objectives)
    for name in old:
        places = _outside(model, model._variables[name], _parts(model, "variable", name))
        places = [place for place in places if place != "the objective"]
        places += ["the new objective"] if uses((name,), *new_objectives) else []
        if places:
            raise ModelError(
                f"variable {name!r} stands for {old[name]} in the objective that is replaced, and is used "
                f"in {', '.join(places)}; declare a variable of your own for it"
            )
    for name in old:
        del model._absolutes[name]
        _drop(model, "variable", name)
    variable_of = {}

    def stand_in(node: Expression) -> Expression | None:
        if not isinstance(node, Abs) or not node.degree:
            return None
        if id(node) not in variable_of:
            name = next(
                name
                for k in count(1)
                if (name := f"abs{k}") not in model and name + _ABOVE not in model
            )
            with parts_of(model, "variable", name):
                variable_of[id(node)] = model.variable(name, *node.indices, doc=str(node))
                model.constraint(name + _ABOVE, variable_of[id(node)] >= node.argument, where=True)
                model.constraint(name + _BELOW, variable_of[id(node)] >= -node.argument, where=True)
            model._absolutes[name] = node
        return variable_of[id(node)]

    return tuple(rebuilt(objective, stand_in) for objective in new_objectives)


def _refuse_part(model: Declarations, kind: str, declared_name: str) -> None:
    """Raise for what was declared together with something else, and goes with it."""
    owner = model._owners.get((kind, declared_name))
    name = declared_name if owner is None else owner[1]
    if owner is not None or (kind == "variable" and name in model._absolutes):
        user = model._absolutes.get(name, name)
        raise ModelError(
            f"{declared_name!r} was declared for {user}, and goes when that, or the objective, is replaced"
        )


def copied(model: Model, relaxed: bool = False) -> Model:
    """Return an independent copy, if asked without integers; see :meth:`Model.copy`."""
    copy = type(model)(model.name, model.source, model.indices)
    leaves: dict[str, Parameter | Variable] = {}
    for name, parameter in model.parameters.items():
        copy._parameters[name] = leaves[name] = Parameter(
            name,
            parameter.indices,
            parameter.stored,
            parameter.doc,
            default=parameter.default,
            model=copy,
        )
    for name, variable in model.variables.items():
        copy._variables[name] = leaves[name] = Variable(
            name,
            variable.indices,
            where=variable._mask,
            bounds=variable.__dict__["_bounds"],
            integer=variable.integer and not relaxed,
            doc=variable.doc,
            model=copy,
        )
        if "_fixed" in variable.__dict__:
            leaves[name].__dict__["_fixed"] = variable.__dict__["_fixed"]
    copy._subsets.update(model.subsets)
    for name, row in model.constraints.items():
        relation = mapped_relation(row.relation, leaves)
        copy._constraints[name] = Constraint(name, relation, row.over, row._mask, row.doc, copy)
    copy._definitions.update(
        {name: mapped(node, leaves) for name, node in model.definitions.items()}
    )
    copy._sense = model.sense
    copy._levels = model._levels
    copy._objectives = tuple(mapped(objective, leaves) for objective in model.objectives)
    copy._tolerances = model._tolerances
    copy._owners.update(model._owners)
    copy._absolutes.update(
        {name: Abs(mapped(node.argument, leaves)) for name, node in model._absolutes.items()}
    )
    copy._curves.update({name: mapped(node, leaves) for name, node in model._curves.items()})
    if not relaxed:
        copy._program = model._program
        copy._stale = set(model._stale)
    return copy


def _of(model: Declarations, name: Any) -> tuple[str, str, Any]:
    """Return what a name or a handle stands for in a model: its kind, its name and itself."""
    if isinstance(name, str):
        return (*model._kind_of(name), model[name])
    # the one over other symbols is the same
    base = name.base if isinstance(name, (Parameter, Variable)) else name
    if not isinstance(base, (Constraint, Parameter, Variable, Subset)):
        raise ModelError(f"{quoted(name)} is no name and no handle of a declaration")
    kind = type(base).__name__.lower()
    base_name = str(base.name)
    if model._table(kind).get(base_name) is base:
        return kind, base_name, base
    raise ModelError(
        f"{kind} {base_name!r} is of another model, or was removed or replaced; take "
        f"model[{base_name!r}] of {model.name!r}"
    )


def handle(model: Declarations, name: Any) -> Any:
    """Return what a name or a handle stands for in a model."""
    return _of(model, name)[2]
