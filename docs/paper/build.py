"""Compute every number and figure of the paper, and typeset it where ``pdflatex`` is installed.

    python docs/paper/build.py          writes build/paper/: numbers.tex, tables, figures, and paper.pdf

The paper (``paper.tex``) holds no computed number: it names macros, and this file defines them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import fairlp
import fairlp_research
from fairlp.mechanisms.literature import REFERENCES

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "build" / "paper"
#: Random trees, and the seed that draws them.
TREES, SEED = 1000, 1
#: Verdicts in the order of the table.
VERDICTS = (
    "equal",
    "within noise",
    "holds",
    "refuted",
    "differs",
    "picture only",
    "not reproduced",
    "not checkable",
)
#: The program of the first page; it runs below.
EXAMPLE = """\
import fairlp
import fairlp_research
c = fairlp.examples.load("wang-figure-1")
a = fairlp.allocate(c, "drfh")
print(a.totals, a.prices)
proof = a.certify(exact=True)
proof.write("proof.json")
model = fairlp.formulate(c, "drfh")
model.solve(solver="scipy").verify()
model.write("drfh.mps")
fairlp.audit(c, a)
"""
#: Literature of the paper, by the keys of ``fairlp mechanisms NAME --bibtex``.
CITED = (
    "ghodsi2011dominant",
    "parkes2012beyond",
    "dolev2012no",
    "gutman2012fair",
    "bhattacharya2013hierarchical",
    "wang2014dominant",
    "kash2014no",
    "wang2016multi",
    "khamseashari2017per",
    "li2019note",
    "metin_precomputed",
)


def number(value: float, digits: int = 6) -> str:
    """Return a number as TeX; whole ones without a point, and thousands with a comma."""
    if float(value).is_integer():
        return f"{int(value):,}".replace(",", "{,}")
    return f"{value:.{digits}g}"


def fraction(value: float) -> str:
    """Return the simplest fraction within rounding of a float."""
    exact = Fraction(value).limit_denominator(1000)
    assert abs(float(exact) - value) < 1e-12, value
    return rf"\tfrac{{{exact.numerator}}}{{{exact.denominator}}}"


def tree(
    demands: list, capacities: list, queues: list[str], limits: list | None = None
) -> fairlp.Instance:
    """Return users on servers, each in the queue of a path."""
    return fairlp.Instance.from_arrays(demands, capacities, queue=queues, task_limits=limits)


def random_tree(rng: np.random.Generator, limited: bool, servers: int = 1) -> fairlp.Instance:
    """Draw users with small whole demands, zeros among them, in queues two deep."""
    users, resources = rng.integers(3, 9), rng.integers(1, 4)
    demands = rng.integers(0, 3, (users, resources))
    demands[np.arange(users), rng.integers(0, resources, users)] += 1
    queues = rng.choice(["", "P", "Q", "P/A", "P/B"], users).tolist()
    limits = (
        np.where(rng.random(users) < 0.4, rng.integers(1, 8, users), np.inf).tolist()
        if limited
        else None
    )
    return tree(
        demands.tolist(), rng.integers(6, 31, (servers, resources)).tolist(), queues, limits
    )


def broken(trees: list[fairlp.Instance], mechanism: str) -> int:
    """Count the trees on which a user, or a queue, has less than its weights promise."""
    promises = ["hierarchical share guarantee", "queue share guarantee"]
    audits = (fairlp.audit(one, fairlp.allocate(one, mechanism), promises) for one in trees)
    return sum(any(holds is False for holds in audit["holds"]) for audit in audits)


def first_queue(limit: float, mechanism: str) -> float:
    """Return what Q1 has of 40 units: one user, beside Q2 with 19 users of a task limit and one without."""
    instance = tree([[1]] * 21, [[40]], ["Q1", *["Q2"] * 20], [np.inf, *[limit] * 19, np.inf])
    return float(fairlp.allocate(instance, mechanism).totals.iloc[0])


def draw_first_queue() -> None:
    """Draw what Q1 has for many task limits of the others."""
    figure = Figure(figsize=(3.4, 2.0), layout="constrained")
    axis = figure.subplots()
    limits = np.linspace(0.02, 1.4, 70)
    for mechanism, look in (("h-drf", "C3-"), ("h-drf-counted", "C0--")):
        axis.plot(
            limits, [first_queue(limit, mechanism) for limit in limits], look, label=mechanism
        )
    axis.set(
        xlabel="task limit of the 19 users in Q2 [tasks]",
        ylabel="Q1 has [units of 40]",
        ylim=(0, None),
    )
    axis.legend(frameon=False)
    figure.savefig(TARGET / "limits.pdf", metadata={"CreationDate": None})


def of_trees() -> dict[str, str]:
    """Compute the numbers of H-DRF with satisfied leaves counted, and not."""
    needs = [[0, 1], [0, 1], [1, 0], [1, 0], [0, 1]]
    queues = ["", "P", "P/A", "P/A", "P/A"]
    deep = tree(needs, [[60, 60]], queues, [np.inf, np.inf, 9, np.inf, np.inf])
    found = {}
    for mechanism, name in (("h-drf", "Plain"), ("h-drf-counted", "Counted")):
        found[f"many{name}"] = number(first_queue(40 / 59, mechanism))
        found[f"deep{name}"] = number(fairlp.allocate(deep, mechanism).totals.iloc[0])
    claims = {"truth": [0, 0, 1], "lie": [1, 0, 1]}
    for name, claim in claims.items():
        instance = tree([[0, 2, 1], [0, 2, 1], claim, [2, 1, 1]], [[2, 2, 2]], ["", "", "q", "q"])
        allocation = fairlp.allocate(instance, "h-drf")
        assert allocation.certify(exact=True).holds
        found[name] = fraction(allocation.totals.iloc[2])
    rng = np.random.default_rng(SEED)
    limited, free = ([random_tree(rng, limits) for _ in range(TREES)] for limits in (True, False))
    spread = [
        random_tree(rng, limits, servers=2) for limits in (True, False) for _ in range(TREES // 10)
    ]
    draw_first_queue()
    return found | {
        "spread": number(len(spread)),
        "spreadBrokenPlain": str(broken(spread, "h-drf")),
        "spreadBrokenCounted": str(broken(spread, "h-drf-counted")),
        "trees": number(TREES),
        "treeSeed": str(SEED),
        "treesBrokenPlain": str(broken(limited, "h-drf")),
        "treesBrokenCounted": str(broken(limited, "h-drf-counted")),
        "treesBrokenFree": str(broken(free, "h-drf")),
    }


def of_alpha() -> dict[str, str]:
    """Compute the total share of alpha-fairness where more fairness gives more."""
    instance = fairlp.Instance.from_arrays([[0, 1], [0, 1], [1, 0], [1, 1]], [[1, 2]])
    tried = np.arange(1, 100) / 10
    totals = [
        fairlp.allocate(instance, "alpha-fair", alpha=float(alpha)).shares.sum() for alpha in tried
    ]
    lowest = int(np.argmin(totals))
    last = fairlp.allocate(instance, "alpha-fair", alpha=float("inf")).shares.sum()
    return {
        "totalAtOne": number(totals[9], 5),
        "totalLowest": number(totals[lowest], 6),
        "alphaLowest": number(tried[lowest], 2),
        "totalAtInfinity": number(last, 6),
    }


def of_proofs() -> dict[str, str]:
    """Prove the max-min mechanisms on all instances of the papers in rationals."""
    tried = proved = 0
    for name in fairlp.examples.names():
        instance = fairlp.examples.load(name)
        for mechanism in ("drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf"):
            try:
                allocation = fairlp.allocate(instance, mechanism)
            except fairlp.errors.NotDefinedError:
                continue
            tried += 1
            proved += allocation.certify(exact=True).holds
    checker = (HERE.parents[1] / "src" / "fairlp_check.py").read_text(encoding="utf-8")
    return {
        "provable": str(tried),
        "proved": str(proved),
        "checkerLines": str(len(checker.splitlines())),
    }


def of_ledger() -> dict[str, str]:
    """Compute six papers again; write the table of verdicts and the figure of printed against computed numbers."""
    found = fairlp_research.reproduce()
    counts = found.counts()
    lines = []
    for paper in (*counts.index, "all"):
        row = counts.sum() if paper == "all" else counts.loc[paper]
        cells = " & ".join(str(int(row.get(verdict, 0))) for verdict in (*VERDICTS, "items"))
        lines.append(("\\midrule\n" if paper == "all" else "") + f"{paper} & {cells} \\\\")
    (TARGET / "verdicts.tex").write_text(
        "\n".join([*lines, "\\bottomrule"]) + "\n", encoding="utf-8"
    )
    numbers = [one for row in found.rows for one in row.answer.numbers if one.agrees is not None]
    pairs = [
        (float(Fraction(text)), one.ours, one.agrees)
        for one in numbers
        if isinstance(one.ours, float | int)
        and re.fullmatch(r"[\d.]+(/\d+)?", text := str(one.paper).lstrip("≈"))
    ]
    draw(pairs)
    rows = {(row.paper, row.item): row.answer for row in found.rows}
    level, program, used = numbers_in(rows["001", "Algorithm 1"].ours)
    printed, right = numbers_in(rows["002", "Program (7), as printed"].ours)
    truth, lie = re.findall(r"\d+/\d+", rows["003", "Lemma 1"].ours)
    sums = [one.ours for one in rows["000", "Tables 1 and 2, sums"].numbers if not one.agrees]
    first_sum, second_sum = (number(value) for value in sums)
    said = {verdict: number(counts[verdict].fillna(0).sum()) for verdict in ("refuted", "differs")}
    return {f"items{verdict.capitalize()}": count for verdict, count in said.items()} | {
        "items": number(counts["items"].sum()),
        "pairs": number(len(pairs)),
        "pairsAgree": number(sum(agrees for _, _, agrees in pairs)),
        "liLevel": level,
        "liProgram": program,
        "liUsed": used,
        "wangPrinted": printed,
        "wangRight": right,
        "lemmaTruth": truth,
        "lemmaLie": lie,
        "metinFirstSum": first_sum,
        "metinSecondSum": second_sum,
    }


def numbers_in(text: str) -> list[str]:
    """Return the decimal numbers of a sentence of the ledger."""
    return re.findall(r"\d+\.\d+", text)


def draw(pairs: list[tuple[float, float, bool]]) -> None:
    """Draw what is printed across and what is computed upwards."""
    figure = Figure(figsize=(3.4, 2.5), layout="constrained")
    axis = figure.subplots()
    for agrees, look in ((True, "C0."), (False, "C3x")):
        chosen = np.array(
            [
                (paper, ours)
                for paper, ours, same in pairs
                if same == agrees and min(paper, ours) > 0
            ]
        )
        axis.loglog(*chosen.T, look, markersize=4, label="agree" if agrees else "differ")
    ends = axis.get_xlim()
    axis.plot(ends, ends, color="#999999", linewidth=0.6, zorder=0)
    axis.set(xlabel="printed in a paper", ylabel="computed by fairlp")
    axis.legend(frameon=False)
    figure.savefig(TARGET / "pairs.pdf", metadata={"CreationDate": None})


def write_example() -> None:
    """Run the example of the first page and write it and its model for the paper."""
    import contextlib
    import io
    import os

    before = Path.cwd()
    os.chdir(TARGET)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(EXAMPLE, "example", "exec"), names := {})
    finally:
        os.chdir(before)
    (TARGET / "example.tex").write_text(
        f"\\begin{{verbatim}}\n{EXAMPLE}\\end{{verbatim}}\n", encoding="utf-8"
    )
    (TARGET / "model.tex").write_text(f"\\[\n{names['model'].to_latex()}\n\\]\n", encoding="utf-8")


def write_references() -> None:
    """Write the literature."""
    by_key = {one.key: one for one in REFERENCES}
    lines = []
    for key in CITED:
        one = by_key[key]
        author = re.sub(r" and (?=.* and )", ", ", one.author)
        lines.append(
            f"\\bibitem{{{key}}} {author}. {one.title}. \\emph{{{one.venue}}}{f', {one.year}' if one.year else ''}."
        )
    (TARGET / "references.tex").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Write all parts, and the PDF where it can be."""
    TARGET.mkdir(parents=True, exist_ok=True)
    write_example()
    write_references()
    macros = of_trees() | of_alpha() | of_proofs() | of_ledger()
    paper = (HERE / "paper.tex").read_text(encoding="utf-8")
    unused = [name for name in macros if f"\\{name}{{}}" not in paper and f"\\{name}$" not in paper]
    assert not unused, f"the paper does not name {unused}"
    lines = [
        f"\\newcommand{{\\{name}}}{{\\ensuremath{{{value}}}}}" for name, value in macros.items()
    ]
    (TARGET / "numbers.tex").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if shutil.which("pdflatex") is None:
        print(
            "pdflatex is not installed: numbers, tables and figures are in build/paper, and there "
            "is no PDF"
        )
        return 0
    command = [
        "pdflatex",
        "-interaction=nonstopmode",
        "-halt-on-error",
        f"-output-directory={TARGET}",
        "paper.tex",
    ]
    for _ in range(2):  # the second time with the references of the first
        done = subprocess.run(
            command, cwd=HERE, capture_output=True, text=True, errors="replace", check=False
        )
    print(done.stdout[-1500:] if done.returncode else f"wrote {TARGET / 'paper.pdf'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
