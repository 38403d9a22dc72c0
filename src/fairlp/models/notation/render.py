"""Expressions and models as plain text and as LaTeX, from the same tree that is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .expressions import (
    Add,
    Constant,
    Expression,
    Log,
    Parameter,
    Product,
    Quotient,
    Relation,
    SumOver,
    Variable,
)

if TYPE_CHECKING:
    from .model import Model

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "Gamma": "Γ", "delta": "δ", "epsilon": "ε", "lambda": "λ",
    "mu": "μ", "phi": "φ", "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ",
}  # fmt: skip
_SIGNS = {"<=": ("≤", r"\le"), ">=": ("≥", r"\ge"), "==": ("=", "=")}
_SUM, _PRODUCT, _ATOM = 1, 2, 3


def text(expression: Expression) -> str:
    """Return the expression as one line of text: ``∑_n d[n,r]·x[n,i]``."""
    return _render(expression, False)[0]


def latex(expression: Expression) -> str:
    r"""Return the expression as LaTeX: ``\sum_{n} d_{n,r}\, x_{n,i}``."""
    return _render(expression, True)[0]


def relation(rel: Relation, tex: bool) -> str:
    """Return a constraint as text or LaTeX."""
    left, right = _render(rel.left, tex)[0], _render(rel.right, tex)[0]
    return f"{left} {_SIGNS[rel.comparison][tex]} {right}"


def symbol(name: str, tex: bool) -> str:
    r"""Return a name as it is printed: ``phi`` as φ, ``d_hat`` as d̂ (``\hat{d}``), others as they are."""
    base, hat = (name[:-4], True) if name.endswith("_hat") else (name, False)
    if tex:
        variant = "var" if base in ("phi", "epsilon") else ""
        shown = "\\" + variant + base if base in _GREEK else base
        if shown == base and len(base) > 1:
            shown = "\\mathrm{" + base.replace("_", "\\_") + "}"
        return f"\\hat{{{shown}}}" if hat else shown
    shown = _GREEK.get(base, base)
    return shown + "\u0302" if hat else shown


def _indexed(node: Parameter | Variable, tex: bool) -> str:
    name = symbol(node.name, tex)
    if not node.indices:
        return name
    places = ",".join(index.symbol for index in node.indices)
    return f"{name}_{{{places}}}" if tex else f"{name}[{places}]"


def _render(node: Expression, tex: bool) -> tuple[str, int]:
    """Return the text of a node and how tightly it binds."""
    match node:
        case Constant():
            shown = f"{node.value:.12g}"
            return shown, _ATOM if node.value >= 0 else _SUM
        case Parameter() | Variable():
            return _indexed(node, tex), _ATOM
        case Add():
            left, right = _render(node.left, tex)[0], _render(node.right, tex)
            second = _wrap(right, _PRODUCT if node.sign < 0 else _SUM)
            return f"{left} {'+' if node.sign > 0 else '−' if not tex else '-'} {second}", _SUM
        case Product():
            if isinstance(node.left, Constant) and node.left.value == -1:
                return ("-" if tex else "−") + _wrap(_render(node.right, tex), _PRODUCT), _SUM
            left_text, right_text = (_wrap(_render(part, tex), _PRODUCT) for part in (node.left, node.right))
            return left_text + (r"\, " if tex else "·") + right_text, _PRODUCT
        case Quotient():
            top, bottom = _render(node.left, tex), _render(node.right, tex)
            if tex:
                return f"\\frac{{{top[0]}}}{{{bottom[0]}}}", _ATOM
            return f"{_wrap(top, _PRODUCT)}/{_wrap(bottom, _ATOM)}", _PRODUCT
        case SumOver():
            over = ",".join(index.symbol for index in node.over)
            body = _wrap(_render(node.body, tex), _PRODUCT)
            return (f"\\sum_{{{over}}} {body}" if tex else f"∑_{over} {body}"), _SUM
        case Log():
            inner = _render(node.argument, tex)[0]
            return (f"\\log\\left({inner}\\right)" if tex else f"log({inner})"), _ATOM
    raise AssertionError(type(node))


def _wrap(part: tuple[str, int], need: int) -> str:
    return part[0] if part[1] >= need else f"({part[0]})"


def _domain(variable: Variable, tex: bool) -> str:
    """Return the bounds and kind of a variable in words of mathematics."""
    lower = None if np.isneginf(variable.lower).all() else variable.lower.min()
    upper = None if np.isposinf(variable.upper).all() else variable.upper.max()
    name, (leq, geq) = _indexed(variable, tex), ((r"\le", r"\ge") if tex else ("≤", "≥"))
    fixed = variable.lower.min() == variable.lower.max() and variable.upper.min() == variable.upper.max()
    if variable.integer and lower == 0 and upper == 1:
        return name + (r" \in \{0,1\}" if tex else " ∈ {0,1}")
    if not fixed and (lower is not None or upper is not None):
        shown = f"\\underline{{{name}}} \\le {name} \\le \\overline{{{name}}}" if tex else f"lower ≤ {name} ≤ upper"
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


def model_text(model: Model) -> str:
    """Return a whole model as text, as ``print(model)`` shows it."""
    lines = [model.name + (f"  ({model.source})" if model.source else "")]
    if model.objective is not None:
        lines.append(f"  {model.sense}imize  {text(model.objective)}")
    width = max((len(name) for name in model.constraints), default=0)
    if model.constraints:
        lines.append("  subject to")
    for name, row in model.constraints.items():
        scope = f"   ∀ {', '.join(i.symbol for i in row.over)}" if row.over else ""
        some = "" if row.positions is None else f" ({len(row.positions)} of {row.full_size})"
        lines.append(f"    {name:<{width}}  {relation(row.relation, False)}{scope}{some}")
    if model.definitions:
        lines.append("  defining")
        lines += [f"    {name} = {text(expression)}" for name, expression in model.definitions.items()]
    lines.append("  with")
    entries: list[tuple[str, str]] = []
    for variable in model.variables.values():
        total = int(np.prod(variable.shape))
        some = "" if variable.positions is None else f" [{variable.size} of {total} exist]"
        entries.append((_domain(variable, False), variable.doc + some))
    entries += [(_indexed(p, False), p.doc) for p in model.parameters.values()]
    entries += [(i.symbol, f"{i.name} ({len(i)})") for i in model.indices]
    width = max(len(left) for left, _ in entries) if entries else 0
    lines += [f"    {left:<{width}}  {right}".rstrip() for left, right in entries]
    return "\n".join(lines)


def model_latex(model: Model) -> str:
    """Return a whole model as a LaTeX ``aligned`` block."""
    rows = []
    if model.objective is not None:
        rows.append(f"\\text{{{model.sense}imize}}\\quad & {latex(model.objective)}")
    lead = r"\text{subject to}\quad & "
    for row in model.constraints.values():
        scope = rf" \quad \forall\, {', '.join(i.symbol for i in row.over)}" if row.over else ""
        rows.append(f"{lead}{relation(row.relation, True)}{scope}")
        lead = "& "
    rows += [f"& {_domain(variable, True)}" for variable in model.variables.values()]
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
