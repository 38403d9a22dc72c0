"""Formulas as MathML, which browsers show without a network and without a script."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def mathml(text: str, display: str) -> str:
    r"""Return LaTeX as MathML; ``\tag{7}`` is written as (7) after the formula."""
    text = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{align*}", text)
    text = re.sub(r"\\tag\{([^}]*)\}", r"\\qquad(\1)", text)
    return convert(text, display=display)


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a sentence."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own; a wide one scrolls."""
    writer.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
