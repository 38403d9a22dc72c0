"""Expressions and models as plain text and as LaTeX, from the same tree that is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from .concave_levels import as_written, rows_of_curves
from .expressions import (
    Abs,
    Add,
    Along,
    Conditional,
    Constant,
    Data,
    Expression,
    Log,
    Marker,
    Minimum,
    Power,
    Product,
    Quotient,
    Range,
    Relation,
    SumOver,
    children,
)
from .labels import Immutable, Index, Indices, member, shape_of, symbols_of
from .variables import Element, Parameter, Variable

if TYPE_CHECKING:
    from .model import Model
    from .tables import Constraint
    from .variables import Subset

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "Gamma": "Γ", "delta": "δ", "epsilon": "ε", "lambda": "λ", "Lambda": "Λ",
    "mu": "μ", "phi": "φ", "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ",
}  # fmt: skip
_SIGNS = {"<=": ("≤", r"\le"), ">=": ("≥", r"\ge"), "==": ("=", "=")}
_SUM = 1
_PRODUCT = 2
_ATOM = 3
#: Elements of a subset without words that are enumerated.
_MOST_SHOWN = 8
#: Letters that mean something to LaTeX.
_TEX_LETTERS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: "\\" + letter for letter in "{}_&%$#"},
}  # fmt: skip


def text(expression: Expression) -> str:
    """Return the expression as one line of text: ``∑_n d[n,r]·x[n,i]``."""
    return _render(expression, False)[0]


def latex(expression: Expression) -> str:
    r"""Return the expression as LaTeX: ``\sum_{n} d_{n,r}\, x_{n,i}``."""
    return _render(expression, True)[0]


def relation(rel: Relation, tex: bool) -> str:
    """Return a constraint as text or LaTeX."""
    if isinstance(rel, Range):
        sign = f" {_SIGNS['<='][tex]} "
        return sign.join(
            _render(node, tex)[0] for node in (rel.low, rel.left, rel.high) if node is not None
        )
    if isinstance(rel, Conditional):
        condition = _render(rel.condition, tex)[0]
        implies = r"\Rightarrow" if tex else "⇒"
        return f"{condition} = {rel.active} {implies} {relation(rel.relation, tex)}"
    left = _render(rel.left, tex)[0]
    right = _render(rel.right, tex)[0]
    return f"{left} {_SIGNS[rel.comparison][tex]} {right}"


def symbol(name: str, tex: bool) -> str:
    r"""Return a name as printed: ``phi`` as φ, ``d_hat`` as d̂ (``\hat{d}``), others unchanged."""
    base, hat = (name[:-4], True) if name.endswith("_hat") else (name, False)
    if tex:
        variant = "var" if base in ("phi", "epsilon") else ""
        shown = "\\" + variant + base if base in _GREEK else base
        if shown == base and len(base) > 1:
            shown = "\\mathrm{" + base.replace("_", "\\_") + "}"
        return f"\\hat{{{shown}}}" if hat else shown
    shown = _GREEK.get(base, base)
    return shown + "\u0302" if hat else shown


def indexed(node: Expression, tex: bool) -> str:
    """Return a name with its indices: ``d[n,r]``, with labels and shifts as ``d[ann,r−1]``."""
    shown = {}
    while isinstance(node, Along):
        shown[node.index.symbol] = _signs(node.shown, tex)
        node = node.body
    assert isinstance(node, (Parameter, Variable, Element, Data))
    name = symbol(node.name, tex)
    if isinstance(node, Element):
        keys = [
            shown.get(key, key) if place is None else _label(key, tex)
            for key, place in zip(node.keys, node.places, strict=True)
        ]
    else:
        keys = [shown.get(index.symbol, index.symbol) for index in node.indices]
    places = ",".join(keys)
    if not places:
        return name
    if not name:
        count = f"[{node.count} numbers over {places}]"  # type: ignore[union-attr]
        return f"\\text{{{count}}}" if tex else count
    return f"{name}_{{{places}}}" if tex else f"{name}[{places}]"


def _signs(symbols: str, tex: bool) -> str:
    """Return words with the signs of formulas, which LaTeX has names for."""
    if not tex:
        return symbols
    symbols = _plain_tex(symbols).replace("−", "-")
    symbols = symbols.replace(" mod ", r" \bmod ")
    return symbols.replace("∈", r" \in ").replace("≤", r" \le ")


def _is_named(node: Expression) -> bool:
    """Whether it is something with a name and brackets, or places of it: ``x[t−1]``.

    A place of a place of one index, ``(x[t−1])[t−1]``, is not.
    """
    symbols: set[str] = set()
    while isinstance(node, Along):
        if node.summed or node.to.symbol in symbols:
            return False
        symbols |= {node.to.symbol, node.index.symbol}
        node = node.body
    return isinstance(node, (Parameter, Variable, Element))


def held(index: Index, tex: bool) -> str:
    """Return what stands for an index behind ∀: its symbol, of a part with the labels."""
    return index.symbol if index.whole is None else _signs(member(index), tex)


def _render(node: Expression, tex: bool) -> tuple[str, int]:
    """Return the text of a node and how tightly it binds."""
    match node:
        case Constant():
            shown = f"{node.value:.12g}"
            return shown, _ATOM if node.value >= 0 else _SUM
        case Marker():
            return _signs(node.shown, tex), _ATOM
        case Parameter() | Variable() | Element() | Data():
            return indexed(node, tex), _ATOM
        case Along() if _is_named(node):
            return indexed(node, tex), _ATOM
        case Along():
            shown = _signs(node.shown, tex)
            inside = _render(node.body, tex)
            if not node.summed:
                return (f"({inside[0]})_{{{shown}}}" if tex else f"({inside[0]})[{shown}]"), _ATOM
            under = _wrap(inside, _PRODUCT)
            return (f"\\sum_{{{shown}}} {under}" if tex else f"∑_{shown} {under}"), _SUM
        case Abs():
            argument = _render(node.argument, tex)[0]
            return (f"\\left|{argument}\\right|" if tex else f"|{argument}|"), _ATOM
        case Add():
            minus = "-" if tex else "−"
            (_, first), *others = node.addends()
            pieces = [_render(first, tex)[0]]
            for sign, addend in others:
                shown = _wrap(_render(addend, tex), _SUM if sign > 0 else _PRODUCT)
                pieces.append(f"{'+' if sign > 0 else minus} {shown}")
            return " ".join(pieces), _SUM
        case Product():
            if isinstance(node.left, Constant) and node.left.value == -1:
                return ("-" if tex else "−") + _wrap(_render(node.right, tex), _PRODUCT), _SUM
            left_text, right_text = (
                _wrap(_render(addend, tex), _PRODUCT) for addend in (node.left, node.right)
            )
            return left_text + (r"\, " if tex else "·") + right_text, _PRODUCT
        case Quotient():
            top = _render(node.left, tex)
            bottom = _render(node.right, tex)
            if tex:
                return f"\\frac{{{top[0]}}}{{{bottom[0]}}}", _ATOM
            return f"{_wrap(top, _PRODUCT)}/{_wrap(bottom, _ATOM)}", _PRODUCT
        case SumOver():
            over = ",".join(symbols_of(node.over))
            body = _wrap(_render(node.body, tex), _PRODUCT)
            return (f"\\sum_{{{over}}} {body}" if tex else f"∑_{over} {body}"), _SUM
        case Minimum():
            shown = ", ".join(_render(part, tex)[0] for part in node.parts)
            return (f"\\min\\left({shown}\\right)" if tex else f"min({shown})"), _ATOM
        case Log():
            argument = _render(node.argument, tex)[0]
            return (f"\\log\\left({argument}\\right)" if tex else f"log({argument})"), _ATOM
        case Power():
            base = _wrap(_render(node.argument, tex), _ATOM)
            exponent = f"{node.exponent:g}"
            if tex:
                return f"{{{base}}}^{{{exponent}}}", _PRODUCT
            return f"{base}^{exponent if node.exponent > 0 else f'({exponent})'}", _PRODUCT
    raise ModelError(f"{type(node).__name__} cannot be printed")


def _wrap(rendered: tuple[str, int], need: int) -> str:
    return rendered[0] if rendered[1] >= need else f"({rendered[0]})"


def domain(variable: Variable, tex: bool) -> str:
    """Return the bounds and kind of a variable in words of mathematics."""
    if not variable.size:
        return indexed(variable, tex)
    lower = None if np.isneginf(variable.lower).all() else variable.lower.min()
    upper = None if np.isposinf(variable.upper).all() else variable.upper.max()
    name = indexed(variable, tex)
    leq, geq = (r"\le", r"\ge") if tex else ("≤", "≥")
    fixed = (
        variable.lower.min() == variable.lower.max()
        and variable.upper.min() == variable.upper.max()
    )
    if variable.integer and lower == 0 and upper == 1:
        return name + (r" \in \{0,1\}" if tex else " ∈ {0,1}")
    if not fixed and (lower is not None or upper is not None):
        shown = (
            f"\\underline{{{name}}} \\le {name} \\le \\overline{{{name}}}"
            if tex
            else f"lower ≤ {name} ≤ upper"
        )
    elif lower is not None and upper is not None:
        shown = f"{lower:.6g} {leq} {name} {leq} {upper:.6g}"
    elif lower is not None:
        shown = f"{name} {geq} {lower:.6g}"
    elif upper is not None:
        shown = f"{name} {leq} {upper:.6g}"
    else:
        shown = name + (r"\ \text{free}" if tex else " free")
    if variable.integer:
        shown += r"\ \text{integer}" if tex else " integer"
    return shown


class _Subsets:
    """The subsets that blocks of a model exist for, each with one name; those without get one."""

    def __init__(self, model: Model, tex: bool) -> None:
        self.tex = tex
        self.names: dict[tuple[tuple[str, ...], bytes], str] = {}
        self.shown: dict[str, Subset] = {}
        self.used_names = {*model.parameters, *model.variables, *model.subsets}
        all_subsets = [
            *(block.where for block in model.variables.values()),
            *(block.where for block in model.constraints.values()),
        ]
        used = [where for where in all_subsets if where is not None]
        for subset in sorted(
            used, key=lambda block: not block.name
        ):  # named ones first, in their order
            key = _key(subset)
            if key not in self.names:
                self.names[key] = subset.name or self._free()
                self.shown[self.names[key]] = subset

    def _free(self) -> str:
        numbers = ("", *map(str, range(1, len(self.shown) + len(self.used_names) + 1)))
        return next(
            f"E{k}" for k in numbers if f"E{k}" not in self.used_names and f"E{k}" not in self.shown
        )

    def scope(self, over: Indices, where: Subset | None) -> str:
        """Return what a block holds for: ``∀ n, i``, or ``∀ (n,i) ∈ E``."""
        every = "\\forall\\, " if self.tex else "∀ "
        if where is None:
            return every + ", ".join(held(index, self.tex) for index in over)
        name = self.names[_key(where)]
        member = r"\in" if self.tex else "∈"
        return f"{every}{_tuple(symbols_of(over))} {member} {_subset_name(name, self.tex)}"

    def definition(self, name: str) -> str:
        """Return the elements of a subset: in words, or listed, only the first if many."""
        subset = self.shown[name]
        brace = ("\\{", "\\}") if self.tex else ("{", "}")
        if subset.doc:
            description = f"\\text{{{_plain_tex(subset.doc)}}}" if self.tex else subset.doc
            inner = _tuple(symbols_of(subset.indices)) + (" : " if self.tex else ": ") + description
        else:
            elements = [
                _tuple([_label(label, self.tex) for label in element])
                for element in subset.elements(_MOST_SHOWN)
            ]
            inner = ", ".join(elements) + (
                (", \\dots" if self.tex else ", …") if len(subset) > len(elements) else ""
            )
        return f"{_subset_name(name, self.tex)} = {brace[0]}{inner}{brace[1]}"


def _key(subset: Subset) -> tuple[tuple[str, ...], bytes]:
    return tuple(symbols_of(subset.indices)), subset.positions.tobytes()


def _tuple(places: list[str]) -> str:
    return f"({','.join(places)})" if len(places) > 1 else places[0]


def _label(label: Any, tex: bool) -> str:
    shown = str(label).removesuffix(" 00:00:00")  # a day
    return f"\\text{{{_plain_tex(shown)}}}" if tex else shown


def _subset_name(name: str, tex: bool) -> str:
    base = name.rstrip("0123456789")
    number = name[len(base) :]
    return f"{symbol(base, tex)}_{{{number}}}" if tex and number and base else symbol(name, tex)


def _plain_tex(plain: str) -> str:
    """Return words so that LaTeX prints them as they are."""
    return "".join(_TEX_LETTERS.get(letter, letter) for letter in plain)


#: For the symbol of an index, the positions of the labels that an expression is asked for.
_Places = dict[str, np.ndarray]


def _outside(model: Model, tex: bool) -> dict[str, Index]:
    """Return the index of each shifted term, as printed (``x[t−1]``), that is 0 in some row.

    Such a term lies outside its index there.
    """
    shifts: dict[str, Index] = {}
    stack: list[tuple[Expression, _Places]] = []
    for row in model.constraints.values():
        positions = np.arange(row.full_size) if row.positions is None else row.positions
        places = np.unravel_index(positions, shape_of(row.over)) if row.over else ()
        asked = dict(zip(symbols_of(row.over), places, strict=True))
        stack += [(node, asked) for node in row.relation.parts]
    formulas = (*model.objectives, *model.definitions.values())
    stack += [(formula, {}) for formula in formulas]
    stack.reverse()
    while stack:
        node, asked = stack.pop()
        if isinstance(node, Along) and not node.summed:
            is_outside = np.diff(node.matrix.indptr) == 0
            if is_outside[asked.get(node.to.symbol, slice(None))].any():
                shifts.setdefault(_render(node, tex)[0], node.index)
        inner = _asked_within(node, asked)
        stack += [(child, inner) for child in reversed(children(node))]
    return shifts


def _asked_within(node: Expression, asked: _Places) -> _Places:
    """Return which labels of its indices the expressions that a node is made of are asked for."""
    match node:
        case SumOver():
            summed = symbols_of(node.over)
            return {symbol: places for symbol, places in asked.items() if symbol not in summed}
        case Along():
            rows = node.matrix[asked.get(node.to.symbol, slice(None))]
            others = {s: places for s, places in asked.items() if s != node.to.symbol}
            return others | {node.index.symbol: np.unique(rows.indices)}
    return asked


def model_text(model: Model) -> str:
    """Return a whole model as text, as ``print(model)`` shows it."""
    subsets = _Subsets(model, False)
    lines = [model.name + (f"  ({model.source})" if model.source else "")]
    if model.objectives:
        formulas = ", then ".join(map(text, model.objectives))
        lines.append(f"  {model.sense}imize  {formulas}{_giving_way(model, False)}")
    rows = _rows_as_written(model)
    width = max((len(row.name) for row in rows), default=0)
    if model.constraints:
        lines.append("  subject to")
    for row in rows:
        scope = f"   {subsets.scope(row.over, row.where)}" if row.over else ""
        some = "" if row.where is None else f" ({len(row.where)} of {row.full_size})"
        line = f"    {row.name:<{width}}  {_as_written(model, row, False)}{scope}{some}   {row.doc}"
        lines.append(line.rstrip())
    if model.definitions:
        lines.append("  defining")
        lines += [
            f"    {name} = {text(expression)}" for name, expression in model.definitions.items()
        ]
    lines.append("  with")
    entries = []
    for variable in _variables_as_written(model):
        where = variable.where
        scope = "" if where is None else f"   {subsets.scope(variable.indices, where)}"
        some = "" if where is None else f" [{len(where)} of {where.full_size} exist]"
        entries.append((domain(variable, False) + scope, variable.doc + some))
    entries += _given(model, False)
    width = max(len(left) for left, _ in entries) if entries else 0
    lines += [f"    {left:<{width}}  {right}".rstrip() for left, right in entries]
    edges = _outside(model, False)
    if subsets.shown or edges:
        lines.append("  where")
    lines += [
        f"    {subsets.definition(n)}   {len(s)} of {s.full_size}" for n, s in subsets.shown.items()
    ]
    lines += [f"    {shown} = 0 outside {held(index, False)}" for shown, index in edges.items()]
    return "\n".join(lines)


def _rows_as_written(model: Model) -> list[Constraint]:
    """Return the constraints without those of variables that stand for terms of the levels."""
    hidden = rows_of_curves(model)
    return [row for name, row in model.constraints.items() if name not in hidden]


def _variables_as_written(model: Model) -> list[Variable]:
    """Return the variables without those that stand for terms of the levels."""
    return [variable for name, variable in model.variables.items() if name not in model._curves]


def _as_written(model: Model, row: Constraint, tex: bool) -> str:
    """Return a row's relation, that of concave levels with its logarithms, powers and minima."""
    if isinstance(row.relation, (Range, Conditional)):
        return relation(row.relation, tex)
    left, right = (
        _render(as_written(model, side), tex)[0] for side in (row.relation.left, row.relation.right)
    )
    return f"{left} {_SIGNS[row.relation.comparison][tex]} {right}"


def _giving_way(model: Model, tex: bool) -> str:
    """Return by how much objectives may give way to later ones; empty where they may not."""
    relative, absolute = model._tolerances
    times = r"\," if tex else "·"
    amounts = [f"{relative:.12g}{times}|optimum|"] if relative else []
    amounts += [f"{absolute:.12g}"] if absolute else []
    if not amounts or len(model.objectives) < 2:
        return ""
    amount = " + ".join(amounts)
    if tex:
        amount = amount.replace("optimum", r"\text{optimum}")
        return rf" \quad \text{{(each may give way by }} {amount} \text{{)}}"
    return f"   (each may give way by {amount})"


def model_latex(model: Model, symbols: bool = False) -> str:
    """Return a whole model as a LaTeX ``aligned`` block, with a table of its symbols if asked."""
    subsets = _Subsets(model, True)
    rows = []
    if model.objectives:
        formulas = r",\ \text{then}\ ".join(map(latex, model.objectives))
        rows += _section(f"{model.sense}imize", [formulas + _giving_way(model, True)])
    lines = []
    for row in _rows_as_written(model):
        scope = rf" \quad {subsets.scope(row.over, row.where)}" if row.over else ""
        doc = rf" \qquad \text{{{_plain_tex(row.doc)}}}" if row.doc else ""
        lines.append(f"{_as_written(model, row, True)}{scope}{doc}")
    for variable in _variables_as_written(model):
        scope = ""
        if variable.where is not None:
            scope = (
                rf" \quad {subsets.scope(variable.indices, variable.where)}\ \text{{(0 elsewhere)}}"
            )
        lines.append(domain(variable, True) + scope)
    rows += _section("subject to", lines)
    lines = [
        rf"{subsets.definition(name)} \quad \text{{({len(subset)} of {subset.full_size})}}"
        for name, subset in subsets.shown.items()
    ]
    for shown, index in _outside(model, True).items():
        lines.append(rf"{shown} = 0 \text{{ outside }} {held(index, True)}")
    rows += _section("where", lines)
    if symbols:
        rows += _section("with", _symbol_table(model))
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def _section(title: str, lines: list[str]) -> list[str]:
    """Return lines of LaTeX, the first with a title before it."""
    leads = [rf"\text{{{title}}}\quad ", *[""] * len(lines)]
    return [f"{lead}& {line}" for lead, line in zip(leads, lines, strict=False)]


def _symbol_table(model: Model) -> list[str]:
    """Return what each symbol of a model stands for, as lines of LaTeX."""
    entries = [
        (indexed(variable, True), variable.doc)
        for variable in _variables_as_written(model)
        if variable.doc
    ]
    return [
        rf"{shown} \quad \text{{{_plain_tex(meaning or 'given')}}}"
        for shown, meaning in entries + _given(model, True)
    ]


def _given(model: Model, tex: bool) -> list[tuple[str, str]]:
    """Return the parameters and indices of a model, each with what it stands for."""
    parameters = [(indexed(number, tex), number.doc) for number in model.parameters.values()]
    return parameters + [(index.symbol, f"{index.name} ({len(index)})") for index in model.indices]


# What objects of index notation are called in a console: one line that says what they are.

#: Letters of a formula, and labels of an index, that one line shows.
_MOST_LETTERS = 100
_MOST_LABELS = 4


def described(thing: Immutable) -> str:
    """Return a line such as ``<Index n: 2 users ann, bob>``; empty for objects without one.

    >>> described(Index("n", ["ann", "bob"], "user"))
    '<Index n: 2 users ann, bob>'
    """
    from .tables import Constraint

    match thing:
        case Index():
            first_labels = ", ".join(thing.labels[:_MOST_LABELS].astype(str))
            ellipsis = ", …" if len(thing) > _MOST_LABELS else ""
            return f"<Index {thing.symbol}: {counted(thing)} {first_labels}{ellipsis}>"
        case Parameter():  # <Parameter d[n,r]: 2 users × 3 resources>; of one number, the number
            size = _sizes(thing.indices) or f"{thing.values.item():.12g}"
            return f"<Parameter {indexed(thing, False)}: {size}>"
        # <Variable g[n,i] ≥ 0: 4 of 6 exist>; where all do, how many labels each index has
        case Variable():
            where = thing.where
            size = (
                _sizes(thing.indices)
                if where is None
                else f"{len(where)} of {where.full_size} exist"
            )
            return f"<Variable {domain(thing, False)}{': ' if size else ''}{size}>"
        case Element():  # <Element g[ann,i] of a variable: 3 servers>
            kind = type(thing.base).__name__.lower()
            size = _sizes(thing.indices)
            return f"<Element {indexed(thing, False)} of a {kind}{': ' if size else ''}{size}>"
        case Expression():  # <Expression ∑_n d[n,r]·x[n] over r>
            over = ",".join(symbols_of(thing.indices))
            return f"<Expression {_short(text(thing))}{' over ' if over else ''}{over}>"
        case Relation():  # <Relation x[n] ≤ c[r] ∀ n, r>
            return (
                f"<{type(thing).__name__} {_short(relation(thing, False))}{_scope(thing.indices)}>"
            )
        # <Constraint capacity: ∑_n d[n,r]·x[n] ≤ c[r] ∀ r: 2 rows>, with a mask 1 of 2 rows
        case Constraint():
            some = "" if thing.where is None else f"{thing.size} of "
            rows = f"{some}{thing.full_size} row" + ("s" if thing.full_size != 1 else "")
            return (
                f"<Constraint {thing.name}: "
                f"{_short(relation(thing.relation, False))}{_scope(thing.over)}: {rows}>"
            )
    return ""


def counted(index: Index) -> str:
    """Return ``2 users``; an index without words has labels."""
    name = "label" if index.name == index.symbol else index.name
    return f"{len(index)} {name}" + ("" if len(index) == 1 else "s")


def _sizes(indices: Indices) -> str:
    return " × ".join(counted(index) for index in indices)


def _scope(indices: Indices) -> str:
    return " ∀ " + ", ".join(held(index, False) for index in indices) if indices else ""


def _short(formula: str) -> str:
    return formula if len(formula) <= _MOST_LETTERS else formula[: _MOST_LETTERS - 1] + "…"
