"""Claims of the ledger's items, changed in one place each: another number, the opposite relation.

A *claim* is what decides the verdict of an item: what its check returns, the test before it returns
that the statement fails, whether an instance breaks it, and the numbers that the paper prints. They
are found in the source of the item's module; one is changed, and the module runs again with it. What
only chooses instances, users or resources to look at is no claim.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fairlp_research import papers as ledger
from fairlp_research.papers.registry import Item, Paper, Run
from fairlp_research.papers.verdicts import Agreement, ItemAnswer

#: A relation → its opposite.
OPPOSITE = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
#: Functions that return a truth, and whose arguments are none.
CLOSE = {"allclose", "isclose"}
#: Functions of truths.
GATHER = {"all", "any", "bool", "sum"}
#: What functions return that decide a verdict, by their annotations.
DECIDING = {"bool", "ItemAnswer", "CheckAnswer"}
#: Functions of what is decided elsewhere.
ANSWERS = {"compare", "holds", "over", "kept", "judged", "replace", "breaks", "not_checkable"}
#: A number as a paper prints it.
NUMBER = re.compile(r"≈?-?\d*\.?\d+(/\d+)?")
#: A property that items audit → a mechanism that breaks it on the same random instances, or, of
#: mechanisms for users who arrive, a property that they lack.
OTHER_MECHANISM = {
    "single-resource": "naive-drf",
    "bottleneck": "asset",
    "envy-free": "drf-discrete",
    "sharing incentive": "asset",
    "Pareto-optimal": "naive-drf",
    "global bottleneck": "asset",
    "strategy-proof": "drf-discrete",
    "hierarchical share guarantee": "h-drf-naive",
}
OTHER_PROPERTY = "dynamically Pareto-optimal"
ARRIVALS = "cautious-lp"


@dataclass(frozen=True)
class Claim:
    """One place of a module's source that decides a verdict.

    Attributes
    ----------
    place : int
        Of its node in the walk of the module's tree.
    kind : str
        ``relation``, ``truth``, ``number``, ``digit`` (of a number that is put together), ``growth``
        (an exponent), ``marks`` (letters of Table I) or ``promise`` (what is audited).
    name : str
        The function, and its source.
    rank : int
        Among the item's claims of this name.
    """

    place: int
    kind: str
    name: str
    rank: int


@dataclass(frozen=True)
class Mutant:
    """An item of which one claim is another.

    Attributes
    ----------
    item : Item
    module : str
        Where the item stands.
    claim : Claim
    base : ItemAnswer
        Of the item as it is.
    """

    item: Item
    module: str
    claim: Claim
    base: ItemAnswer

    @property
    def name(self) -> str:
        """Item, kind of the claim, and its source."""
        return f"{self.item.key} | {self.claim.kind} | {self.claim.name}"

    def compute(self, run: Run) -> ItemAnswer:
        """Return the answer of the changed item."""
        module = importlib.import_module(self.module)
        tree = ast.parse(_source(self.module))
        node = list(ast.walk(tree))[self.claim.place]
        tree = ast.fix_missing_locations(
            _Change(node, self.claim.kind, self.base, self.claim.rank).visit(tree)
        )
        code = compile(tree, str(module.__file__), "exec")
        items = self.item.paper.items
        kept = dict(items)
        items.clear()  # the module registers its items anew
        namespace = {"__name__": self.module, "__package__": module.__package__}
        try:
            exec(code, namespace)
            registered = items or namespace["PAPER"].items
            changed = registered[self.item.item]
        finally:
            items.clear()
            items.update(kept)
        return changed.compute(run)


def outcome(answer: ItemAnswer) -> tuple[Any, ...]:
    """Return what must be another: the verdict, which numbers agree, what is seen of a picture."""
    picture = answer.ours if answer.verdict is Agreement.PICTURE else ""
    return answer.verdict, tuple(number.agrees for number in answer.numbers), picture


def mutants(item: Item, base: ItemAnswer) -> list[Mutant]:
    """Return an item's mutants, one for each claim."""
    return [Mutant(item, module, claim, base) for module, claim in claims(item)]


@cache
def claims_by_module(module: str) -> dict[str, list[Claim]]:
    """Return the claims of a module's items, by the name of the item."""
    tree = ast.parse(_source(module))
    places = {id(node): place for place, node in enumerate(ast.walk(tree))}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: dict[str, list[Claim]] = {}

    def add(name: str, function: str, node: ast.AST, kind: str) -> None:
        text = f"{function}: {' '.join(ast.unparse(node).split())}"
        claims_of_item = found.setdefault(name, [])
        rank = sum(claim.name == text for claim in claims_of_item)
        claims_of_item.append(Claim(places[id(node)], kind, text, rank))

    for name, function in _functions_of_items(tree, functions):
        for part in _with_helpers(function, functions):
            for node, kind in _Claims(part).found():
                add(name, part.name, node, kind)
    for call in ast.walk(tree):
        if _called(call) in ("audited", "shipped"):
            name = ast.literal_eval(call.args[0])
            properties = call.args[3:] if _called(call) == "audited" else call.args[3:4]
            for node in properties:
                add(name, _called(call), node, "promise")
    return found


def claims(item: Item) -> list[tuple[str, Claim]]:
    """Return the claims of an item, each with its module."""
    return [
        (module, claim)
        for module in modules(item.paper.number)
        for claim in claims_by_module(module).get(item.item, [])
    ]


@cache
def modules(number: str) -> list[str]:
    """Return the modules of the ledger that register items of a paper."""
    names = [f"{ledger.__name__}.{found.name}" for found in pkgutil.iter_modules(ledger.__path__)]
    papers = {name: getattr(importlib.import_module(name), "PAPER", None) for name in names}
    return [
        name
        for name, paper in papers.items()
        if isinstance(paper, Paper) and paper.number == number
    ]


@cache
def _source(module: str) -> str:
    return Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")


def _called(node: ast.AST) -> str:
    """Return the name of what a call calls, without what it is an attribute of."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _functions_of_items(
    tree: ast.Module, functions: dict[str, ast.FunctionDef]
) -> Iterator[tuple[str, ast.FunctionDef]]:
    for function in functions.values():
        for decorator in function.decorator_list:
            if _called(decorator) in ("item", "statement"):
                yield ast.literal_eval(decorator.args[0]), function
    for node in tree.body:  # the rows of Metin's tables
        if isinstance(node, ast.For):
            rows = importlib.import_module("fairlp_research.papers.metin").ROWS
            yield from ((row, functions["judged"]) for row in rows)


def _with_helpers(
    function: ast.FunctionDef, functions: dict[str, ast.FunctionDef]
) -> list[ast.FunctionDef]:
    """Return a function, and those of its module that it names and that decide something."""
    found = [function]
    for part in found:
        local = {name for node in ast.walk(part) for name, _ in _assigned(node)}
        for node in ast.walk(part):
            named = isinstance(node, ast.Name) and node.id not in local
            helper = functions.get(node.id) if named else None
            if helper is not None and helper not in found and _decides_something(helper):
                found.append(helper)
    return found


def _decides_something(function: ast.FunctionDef) -> bool:
    return function.returns is not None and ast.unparse(function.returns) in DECIDING


class _Claims:
    """The claims of a function: nodes, each with its kind."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        self.values: dict[str, list[ast.expr]] = {}
        self.claims: list[tuple[ast.expr, str]] = []
        self.resolved: set[tuple[str, str]] = set()
        for node in ast.walk(function):
            for name, value in _assigned(node):
                self.values.setdefault(name, []).append(value)

    def found(self) -> list[tuple[ast.expr, str]]:
        """Return them, each once."""
        for node in _own_nodes(self.function):
            if isinstance(node, ast.Return) and node.value is not None:
                self.returned(node.value)
            elif isinstance(node, ast.If) and _fails(node.body[-1]):
                self.decided(node.test)
            elif _called(node) in ("beside", "pairs"):
                self.printed(node.args[0])
            elif _called(node) == "Number" and len(node.args) > 3:
                self.decided(node.args[3])
            elif _called(node) == "measured":
                self.claims.append((node.args[4], "growth"))
            elif _called(node) == "_marks":
                self.claims.append((node, "marks"))
            elif _called(node) == "append" and _is_truth(node.args[0]):
                self.decided(node.args[0])
        return list(dict.fromkeys(self.claims))

    def returned(self, value: ast.expr) -> None:
        """Look for claims in what a function returns."""
        if isinstance(value, ast.Constant) or _is_words(value):
            return
        if isinstance(value, ast.IfExp):
            branches = (value.body, value.orelse)
            if any(
                isinstance(branch, ast.Constant) and branch.value is None for branch in branches
            ):
                return
            if any(isinstance(branch, (ast.Constant, ast.JoinedStr)) for branch in branches):
                self.decided(value.test)
                return
            for branch in branches:
                self.returned(branch)
        elif isinstance(value, ast.BoolOp) and _is_words(value.values[-1]):
            for part in value.values[:-1]:
                self.decided(part)
        elif isinstance(value, ast.Name) and value.id in self.values:
            if ("returned", value.id) not in self.resolved:
                self.resolved.add(("returned", value.id))
                for assigned in self.values[value.id]:
                    self.returned(assigned)
        elif _called(value) == "on_instance":
            self.decided(value.args[1])
        elif _called(value) == "ItemAnswer":
            self.verdict(value.args[0])
        elif _called(value) in ("picture", "_picture"):
            self.pictured(value.args[0])
        elif _called(value) not in ANSWERS | {"beside", "_marks", "_reached", "_equivalent"}:
            self.decided(value)

    def verdict(self, value: ast.expr) -> None:
        """Look for the condition of a verdict."""
        if isinstance(value, ast.IfExp):
            self.decided(value.test)
        elif isinstance(value, ast.Name):
            for assigned in self.values.get(value.id, []):
                self.verdict(assigned)

    def pictured(self, value: ast.expr) -> None:
        """Look for what is seen of a picture."""
        if isinstance(value, ast.Name):
            for assigned in self.values.get(value.id, []):
                self.pictured(assigned)
        elif isinstance(value, ast.DictComp):
            self.decided(value.value)
        elif not isinstance(value, ast.Dict):
            self.decided(value)
        else:
            for seen in value.values:
                self.decided(seen)

    def decided(self, value: ast.expr) -> None:
        """Add the relations and truths of a condition, or the condition as a whole."""
        relations = list(self.truths(value))
        self.claims += relations or [(value, "truth")]

    def truths(self, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
        """Yield relations and truths of an expression, but for those that choose."""
        if isinstance(value, ast.Compare):
            yield value, "relation"
            for part in (value.left, *value.comparators):
                if isinstance(part, ast.Name) or _is_truth(part):
                    yield from self.truths(part)
        elif isinstance(value, (ast.BoolOp, ast.List, ast.Tuple)):
            for part in value.values if isinstance(value, ast.BoolOp) else value.elts:
                yield from self.truth_of(part)
        elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
            yield from self.truth_of(value.operand)
        elif isinstance(value, ast.BinOp):
            for part in (value.left, value.right):
                yield from self.truths(part)
        elif isinstance(value, (ast.GeneratorExp, ast.ListComp)):
            yield from self.truth_of(value.elt)
        elif isinstance(value, ast.Name):
            if ("decided", value.id) not in self.resolved:
                self.resolved.add(("decided", value.id))
                for assigned in self.values.get(value.id, []):
                    if _is_truth(assigned):
                        yield from self.truth_of(assigned)
        elif _called(value) in CLOSE:
            yield value, "truth"
        elif _called(value) in GATHER:
            inner = value.func.value if isinstance(value.func, ast.Attribute) else value.args[0]
            if not (isinstance(inner, ast.Name) and inner.id == "np"):
                yield from self.truths(inner)

    def truth_of(self, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
        """Yield the relations of a truth, or itself where there are none."""
        resolved_before = len(self.resolved)
        relations = list(self.truths(value))
        if relations or len(self.resolved) > resolved_before:
            yield from relations
        if not relations and not isinstance(value, (ast.Constant, ast.JoinedStr)):
            yield value, "truth"

    def printed(self, value: ast.AST) -> None:
        """Add the numbers among what a paper prints."""
        if isinstance(value, ast.JoinedStr):
            self.claims.append((value, "digit"))
        elif isinstance(value, ast.Constant):
            if _is_number(value.value):
                self.claims.append((value, "number"))
        elif isinstance(value, ast.Name):
            if ("printed", value.id) not in self.resolved:
                self.resolved.add(("printed", value.id))
                for assigned in self.values.get(value.id, []):
                    self.printed(assigned)
        elif isinstance(value, ast.Dict):
            for part in value.values:
                self.printed(part)
        elif isinstance(value, ast.Call):
            for part in value.args[1:] if _called(value) in ("named", "fromkeys") else value.args:
                self.printed(part)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            if isinstance(value.left, ast.List):  # a number, so many times
                self.printed(value.left)
            else:
                self.constants(value)
        elif isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitOr):
            self.constants(value)
        elif isinstance(value, (ast.List, ast.Tuple, ast.BinOp, ast.UnaryOp)):
            for part in ast.iter_child_nodes(value):
                self.printed(part)

    def constants(self, value: ast.expr) -> None:
        """Add the numbers of a formula."""
        for node in ast.walk(value):
            if isinstance(node, ast.Constant):
                self.printed(node)


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield a function's nodes, but for those of inner functions that decide nothing."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef) and not _decides_something(node):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a node gives values to, and the values."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                yield target.value.id, node.value
    elif _called(node) == "append" and isinstance(node.func.value, ast.Name):
        yield node.func.value.id, node.args[0]
    elif isinstance(node, ast.For) and isinstance(node.iter, (ast.Tuple, ast.List)):
        for row in node.iter.elts:
            if isinstance(node.target, ast.Tuple) and isinstance(row, (ast.Tuple, ast.List)):
                for target, value in zip(node.target.elts, row.elts, strict=True):
                    if isinstance(target, ast.Name):
                        yield target.id, value


def _is_truth(value: ast.AST) -> bool:
    """Whether an expression is a truth, or truths, by how it is written."""
    if isinstance(value, (ast.Compare, ast.BoolOp)):
        return True
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.Not)
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, (ast.BitAnd, ast.BitOr)) and _is_truth(value.left)
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return _is_truth(value.elt)
    return _called(value) in CLOSE | {"all", "any", "bool"}


def _is_words(value: ast.AST) -> bool:
    return isinstance(value, ast.JoinedStr) or _called(value) == "in_words"


def _fails(statement: ast.stmt) -> bool:
    """Whether a statement returns that something fails."""
    if not isinstance(statement, ast.Return):
        return False
    value = statement.value
    return _is_words(value) or (isinstance(value, ast.Constant) and value.value is False)


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value in ("yes", "no") or NUMBER.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class _Change(ast.NodeTransformer):
    """Changes one node of a tree."""

    def __init__(self, node: ast.AST, kind: str, base: ItemAnswer, rank: int) -> None:
        self.node = node
        self.rank = rank
        self.kind = kind
        self.change = getattr(self, kind)
        self.base = base

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or what stands in its place."""
        if node is self.node and not isinstance(node, ast.Module):
            return self.change(node)
        if self.kind == "promise" and isinstance(node, ast.Call) and self.node in node.args:
            return self.promise(self.node, node)
        return self.generic_visit(node)

    def relation(self, node: ast.Compare) -> ast.expr:
        """Return the opposite relation."""
        if len(node.ops) > 1:
            return ast.UnaryOp(ast.Not(), node)
        node.ops = [OPPOSITE[type(relation)]() for relation in node.ops]
        return node

    def truth(self, node: ast.expr) -> ast.expr:
        """Return the negated truth."""
        return ast.UnaryOp(ast.Not(), node)

    def number(self, node: ast.Constant) -> ast.expr:
        """Return another number: ours where it differs from the printed one, else one beside it."""
        return ast.Constant(_other(node.value, self.base, self.rank))

    def growth(self, node: ast.Constant) -> ast.expr:
        """Return a claimed exponent that is smaller by one."""
        return ast.Constant(node.value - 1)

    def digit(self, node: ast.JoinedStr) -> ast.expr:
        """Return a printed number with one more digit."""
        return ast.BinOp(node, ast.Add(), ast.Constant("1"))

    def marks(self, node: ast.Call) -> ast.expr:
        """Return the call with a promised property that is said to be missing."""
        promised = str(ast.literal_eval(node.args[2])).split()
        missing = str(ast.literal_eval(node.args[3])).split()
        node.args[2] = ast.Constant(" ".join(promised[:-1]))
        node.args[3] = ast.Constant(" ".join([promised[-1], *missing]))
        return node

    def promise(self, node: ast.expr, call: ast.Call | None = None) -> Any:
        """Return the registration of a promise that is not kept, or of one that is missing."""
        if call is None:
            return node
        if _called(call) == "shipped":
            kept = [keyword for keyword in call.keywords if keyword.arg != "missing"]
            was_missing = len(kept) < len(call.keywords)
            call.keywords = kept + [ast.keyword("missing", ast.Constant(True))] * (not was_missing)
            return call
        name = node.value if isinstance(node, ast.Constant) else "hierarchical share guarantee"
        other = OTHER_MECHANISM.get(name)
        mechanism = ast.Constant(other or ARRIVALS)
        audited = node if other else ast.Constant(OTHER_PROPERTY)
        call.args = [*call.args[:2], mechanism, audited]
        return call


def _other(value: Any, base: ItemAnswer, rank: int) -> Any:
    """Return another number than a printed one, of those so printed that of the rank."""
    if value in ("yes", "no"):
        return "no" if value == "yes" else "yes"
    alike = [number for number in base.numbers if number.paper == str(value)][rank : rank + 1]
    if alike and alike[0].agrees is False:
        return repr(float(alike[0].ours))
    if not isinstance(value, str):
        return value + 1
    last = max(k for k, letter in enumerate(value) if letter.isdigit())
    digit = int(value[last])
    return f"{value[:last]}{digit - 1 if digit > 1 else digit + 1}{value[last + 1 :]}"
