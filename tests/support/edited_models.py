"""Models that are edited at random, and built anew with what the edits should have come to."""

from __future__ import annotations

from itertools import product

import numpy as np

from fairlp import Index, Model, log, minimum

ROWS = [
    *(
        "shift",
        "cycle",
        "initial",
        "running",
        "teams",
        "team_means",
        "some",
        "data",
        "ends",
        "neighbours",
        "alias",
    ),
    *("mean", "mean_of_all", "mean_of_sum", "element", "matrix", "quotient", "range", "near"),
    *("closed", "one_place", "batch", "curve", "masked", "chosen"),
]
OBJECTIVES = ["linear", "mean", "absolute", "square", "log", "leximin"]


class Edited:
    """What a model should be: labels, numbers, bounds, masks and rows, from which it can be built at any time."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.labels = {"n": ["a", "b"], "t": [0, 1]}
        self.masks = {
            "x": self.rng.choice(["none", "own", "every", "named", "spread", "list"]),
            "row": self.rng.choice(["none", "own", "named"]),
        }
        self.exists = {}
        self.numbers = {}
        self.bounds = {}
        self.fixed = {}
        self.integer = set()
        self.rows = []
        self.count = 0
        for name in self.rng.choice(ROWS, int(self.rng.integers(1, 5)), replace=False):
            self.rows.append((str(name), str(name), False))
        self.objective = str(self.rng.choice(OBJECTIVES))
        self._draw()
        self.model = self.build()

    def _draw(self):
        """Draw numbers, bounds and masks."""
        for n, t in product(self.labels["n"], self.labels["t"]):
            self.numbers["p", n, t] = float(self.rng.integers(0, 4))
            self.numbers["s", n, t] = float(self.rng.integers(0, 3))
            self.bounds["x", n, t] = float(self.rng.integers(2, 9))
            self.exists["x", n, t] = self.masks["x"] != "own" or bool(self.rng.random() < 0.7)
            self.exists["F", n, t] = bool(self.rng.random() < 0.7)
            self.exists["row", n, t] = bool(self.rng.random() < 0.7)
        for t in self.labels["t"]:
            self.numbers["q", t] = float(self.rng.integers(1, 9))
        for n in self.labels["n"]:
            self.exists["E", n] = bool(self.rng.random() < 0.7)

    def grid(self, table, name):
        """Return what is over both indices as an array."""
        labels = self.labels
        return np.array([[table[name, n, t] for t in labels["t"]] for n in labels["n"]])

    def build(self):
        """Return the model anew."""
        n, t = Index("n", self.labels["n"], "user"), Index("t", self.labels["t"], "hour")
        model = Model("edited", indices=(n, t))
        model.parameter("p", (n, t), self.grid(self.numbers, "p"))
        kept = {
            (a, b): self.numbers["s", a, b] for a, b in product(n, t) if self.numbers["s", a, b]
        }
        model.parameter("s", (n, t), kept or None, default=0)
        model.parameter("q", t, [self.numbers["q", hour] for hour in t])
        model.parameter("h", (), self.numbers.get("h", 3.0))
        model.subset("E", n, [self.exists["E", user] for user in n])
        model.subset("F", (n, t), self.grid(self.exists, "F"))
        own = self.grid(self.exists, "x")
        where = {
            "none": None,
            "own": own,
            "every": own,
            "named": model["F"],
            "spread": model["E"],
            "list": [(a, b) for a, b in product(n, t) if self.exists["F", a, b]],
        }[self.masks["x"]]
        x = model.variable("x", n, t, where=where, upper=self.grid(self.bounds, "x"))
        model.variable("y", n, upper=6)
        model.variable("z", n, binary=True)
        for name in ("x", "y"):
            model[name].set(integer=name in self.integer)
        for kind, name, is_replaced in self.rows:
            self.declare(model, kind, name, is_replaced)
        self.set_objective(model)
        for (name, *labels), value in self.fixed.items():
            if name == "y" or x[tuple(labels)].lower.size:
                model[name][tuple(labels)].fix(value)
        return model

    def relation(self, model, kind):
        """Return the relation of a row."""
        n, t = model.indices[:2]
        x, y = model["x"], model["y"]
        p, s, q, h = (model[name] for name in "psqh")
        numbers = [self.numbers["q", hour] for hour in self.labels["t"]]
        team = {user: "ab"[k % 2] for k, user in enumerate(self.labels["n"])}
        return {
            "shift": lambda: x - x.shift(t) <= h,
            "cycle": lambda: x - x.shift(t, cyclic=True) <= h,
            "initial": lambda: x - x.shift(t, initial=2) <= h,
            "running": lambda: x.cumsum(t).sum(n) <= 20,
            "teams": lambda: x.groupby(team, "team").sum() <= 9,
            "team_means": lambda: y.groupby(team, "team").mean() <= 3,
            "some": lambda: y[["a"]] <= h,
            "data": lambda: x.sum(n) <= numbers,
            "ends": lambda: y.between(0, [5.0] * len(n)),
            "alias": lambda: y[n.alias("m")] + 0 * h <= 5,
            "mean": lambda: x.mean(n) <= q,
            "mean_of_all": lambda: (p * x).mean() + h >= y.mean() - x.mean(t).sum(),
            "mean_of_sum": lambda: (x.sum(t) + y).mean(n) <= 2 * h,
            "element": lambda: y["a"] + y["b"] <= 8,
            "matrix": lambda: (p @ x) + (s * x).sum(n).sum() <= 40,
            "quotient": lambda: (x / q).sum(n) <= p.mean(n) + h,
            "range": lambda: (x + y).between(-h, q + 5),
            "near": lambda: abs(y - h) <= 2 * h,
        }[kind]()

    def declare(self, model, kind, name, is_replaced):
        """Declare one row, or what a helper writes."""
        n, t = model.indices[:2]
        x, y, z = (model[letter] for letter in "xyz")
        match kind:
            case "closed":
                model.indicator(name, z, y <= model["h"])
            case "one_place":
                model.sos1(name, x, n)
            case "neighbours":
                model.sos2(name, x, t)
            case "batch":
                model.semicontinuous(name, x, 1)
            case "curve":
                model.piecewise(name, x, [0, 3, 9], [0, 5, 6])
            case "masked":
                where = {
                    "none": None,
                    "own": self.grid(self.exists, "row"),
                    "named": model["E"],
                }[self.masks["row"]]
                model.constraint(name, 2 * x.mean(n) + y >= -1, where=where)
            case "chosen":
                model.constraint(name, y + 0 * x.sum() <= 5, where=model["E"])
            case _:
                relation = self.relation(model, kind)
                row = model.constraint(name, y.sum() <= 7 if is_replaced else relation, where=True)
                if is_replaced:
                    row.replace(relation)

    def set_objective(self, model):
        """Set the objective."""
        n, t = model.indices[:2]
        x, y, p = model["x"], model["y"], model["p"]
        match self.objective:
            case "linear":
                model.maximize((p * x).sum() + y.sum())
            case "mean":
                model.maximize((p * x).mean() + y.mean(n) + x.sum(n).mean(t))
            case "absolute":
                model.minimize(abs(y - x.mean(t)).sum() - y.mean())
            case "square":
                model.minimize(((y - x.mean(t)) ** 2).sum() - y.mean())
            case "log":
                model.maximize(log(y.mean() + 1) + (log(x.mean(t) + 2)).mean(n))
            case "leximin":
                model.leximin(minimum(x.mean(t), y + x.mean()))

    def edit(self):
        """Change the model in one way."""
        kind = self.rng.choice(
            [
                "set",
                "set element",
                "bounds",
                "fix",
                "unfix",
                "integer",
                "remove",
                "replace",
                "add",
                "copy",
                "objective",
                "compile",
            ]
        )
        n, t = (str(self.rng.choice(self.labels["n"])), int(self.rng.choice(self.labels["t"])))
        model = self.model
        match kind:
            case "set":
                self.numbers["h"] = float(self.rng.integers(1, 6))
                model["h"].set(self.numbers["h"])
            case "set element":
                self.numbers["p", n, t] = 7.0
                model["p"][n, t].set(7)
            case "bounds":
                upper = float(self.rng.integers(4, 12))
                for pair in product(self.labels["n"], self.labels["t"]):
                    self.bounds["x", *pair] = upper
                model["x"].set(upper=upper)
            case "fix":
                self.fixed["y", n] = 1.0
                model["y"][n].fix(1)
            case "unfix":
                self.fixed.clear()
                model["y"].unfix()
            case "integer":
                self.integer ^= {"y"}
                model["y"].set(integer="y" in self.integer)
            case "remove" if self.rows:
                row = self.rows.pop(int(self.rng.integers(len(self.rows))))
                model.remove(row[1])
            case "replace":
                simple = [k for k, row in enumerate(self.rows) if row[0] not in HELPERS]
                if simple:
                    place = simple[int(self.rng.integers(len(simple)))]
                    new = str(self.rng.choice([name for name in ROWS if name not in HELPERS]))
                    name = self.rows[place][1]
                    model.replace(name, self.relation(model, new), where=True)
                    self.rows[place] = (new, name, False)
            case "add":
                new = str(self.rng.choice(ROWS))
                self.count += 1
                name = f"{new}{self.count}"
                self.rows.append((new, name, False))
                self.declare(model, new, name, False)
            case "copy":
                self.model = model.copy()
            case "objective" if self.objective != "leximin":  # whose rows stay
                self.objective = str(self.rng.choice(OBJECTIVES))
                self.set_objective(model)
            case "compile":
                contents(model)


#: Rows that other methods than Model.constraint declare, or with a mask.
HELPERS = ("closed", "one_place", "neighbours", "batch", "curve", "masked", "chosen")


def contents(model):
    """Return a model's first program by names: entries, ends of rows, bounds, costs and kinds."""
    model = model.copy() if len(model.objectives) > 1 else model
    program = model.compile()
    rows, columns = program.row_names, program.column_names
    entries = program.A.tocoo()
    matrix = {
        (rows[i], columns[j]): value
        for i, j, value in zip(*entries.coords, entries.data, strict=True)
    }
    ends = dict(zip(rows, zip(program.row_lower, program.row_upper, strict=True), strict=True))
    bounds = zip(program.col_lower, program.col_upper, program.integrality, program.c, strict=True)
    logs = []
    if program.logs is not None:
        inner = program.logs.A.tocoo()
        logs = sorted(
            (round(float(program.logs.weights[i]), 12), columns[j], float(value))
            for i, j, value in zip(*inner.coords, inner.data, strict=True)
        )
    return matrix, ends, dict(zip(columns, bounds, strict=True)), logs, program.offset
