"""The code that a hint says to write, and models in which it has to run."""

import ast
import re

import numpy as np

import fairlp
from fairlp import Index, Model

#: What makes a run of words code, and what only looks like it: "x.lower and x.upper".
_CODE = (ast.Call, ast.Attribute, ast.Subscript, ast.Assign, ast.BinOp, ast.Compare, ast.ListComp)
_PROSE = (ast.BoolOp, ast.Is, ast.IsNot, ast.AnnAssign)


def phrases(hint):
    """Return the pieces of code of a hint: the longest runs of words, after "write", that are Python.

    >>> phrases("write x.lower and x.upper to read bounds, x.set(lower=0, upper=1) to change them")
    ['x.lower', 'x.upper', 'x.set(lower=0, upper=1)']
    """
    words = hint.partition("write ")[2].split(" ")
    codes = []
    start = 0
    while start < len(words):
        runs = (" ".join(words[start:stop]) for stop in range(len(words), start, -1))
        texts = (run.rstrip(",;:") for run in runs)
        code = next((text for text in texts if _is_code(text)), None)
        if code is not None:
            codes.append(code)
        start += 1 if code is None else len(code.split(" "))
    return codes


def _is_code(text):
    """Whether a text is one statement of Python that does something; plain words do not."""
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return False
    if len(statements) != 1:
        return False
    statement = statements[0]
    nodes = list(ast.walk(statement))
    if isinstance(getattr(statement, "value", None), ast.Tuple):
        return False  # two phrases with a comma between them
    is_membership = isinstance(getattr(statement, "value", None), ast.Compare) and any(
        isinstance(operator, (ast.In, ast.NotIn)) for operator in statement.value.ops
    )
    return (
        any(isinstance(node, _CODE) for node in nodes)
        and not any(isinstance(node, _PROSE) for node in nodes)
        and not is_membership
    )


def run(codes, scope):
    """Run pieces of code one after the other; a keyword (``lower=0``) is tried where it belongs."""
    for code in codes:
        keyword = re.fullmatch(r"(\w+)=(?![ =])(.*)", code)
        if keyword:
            _try_keyword(keyword[1], eval(keyword[2], scope), scope["model"], scope["n"])
        else:
            exec(code, scope)


def _try_keyword(name, value, model, n):
    """Hand over a keyword to what takes it: an option, or a part of a declaration."""
    count = len(model.variables) + len(model.parameters)
    if name in fairlp.Options.__dataclass_fields__:
        model.solve("highs", **{name: value})
    elif name in ("values", "default"):
        model.parameter(f"another{count}", n, **{"values": dict.fromkeys(n, 1), name: value})
    else:
        model.variable(f"another{count}", n, **{name: value})


def scopes():
    """Yield models with what hints name: x over one index or another, names free or taken."""
    for over in ("n", "ni", "t"):
        yield _scope(over, "")
        yield _scope(over, "_")
    yield _of_columns()
    yield _of_nodes()
    yield from _without_optimum()


def _scope(over, suffix):
    """Return a model of x over some indices; of its names, those with a suffix leave others free."""
    n = Index("n", ["ann", "bob"] if suffix else ["ann", "bob", "cat"], "user")
    i, t = Index("i", ["s1", "s2"], "server"), Index("t", [8, 9, 10], "hour")
    model = Model("m", indices=(n, i, t))
    indices = {"n": (n,), "ni": (n, i), "t": (t,)}[over]
    x = model.variable("x" + suffix, *indices, upper=4, integer=not suffix and over == "n")
    y = model.variable("y" + suffix, n, upper=4)
    d = model.parameter("d" + suffix, n, np.arange(len(n)) + 1.0)
    used = x if over == "n" else y  # else x may be removed
    row = model.constraint("name" + suffix, used.sum() <= 4)
    on, off = (model.variable(name, binary=True) for name in ("on", "off")) if suffix else (x, y)
    model.maximize(used.sum())
    numbers = dict.fromkeys(n, 2.0)
    model.write("model.mps")
    return {
        "fairlp": fairlp, "model": model, "n": n, "i": i, "t": t, "x": x, "y": y, "d": d, "a": d, "w": d,
        "cost": d, "costs": d, "row": row, "on": on, "off": off, "solution": model.solve(),
        "mask": np.arange(len(indices[0])) < 1, "expression": x.sum(), "relation": x <= 1,
        "formula": 2 * x, "data": dict.fromkeys(n, 3), "numbers": numbers, "low": 0, "high": 1,
        "breakpoints": [0, 1, 4], "values": [0, 2, 3] if suffix else numbers if over == "ni" else 1,
    }  # fmt: skip


def _of_columns():
    """Return a cutting stock: patterns p of pieces i."""
    i, p = Index("i", ["s1", "s2"]), Index("p", ["old", "other"])
    model = Model("m", indices=(i, p))
    a = model.parameter("a", (i, p), [[1, 0], [0, 2]])
    x = model.variable("x", p)
    model.constraint("demand", (a * x).sum(p) >= [4, 5])
    model.minimize(x.sum())
    return {"model": model, "p": p}


def _of_nodes():
    i, j = (Index(symbol, ["a", "b", "c"], "node") for symbol in "ij")
    return {"model": Model("m", indices=(i, j)), "i": i, "j": j}


def _without_optimum():
    """Yield an infeasible model and an unbounded one, with their answers."""
    for sides in ((2, 1), (0, None)):
        model = Model("m")
        x = model.variable("x", upper=sides[1])
        model.constraint("name", x >= sides[0])
        model.maximize(x)
        yield {"model": model, "x": x, "solution": model.solve()}
