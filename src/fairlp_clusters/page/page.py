"""``report``: one self-contained page of HTML, with its script."""

from __future__ import annotations

import base64
import hashlib
import importlib
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairlp import Mechanism, __version__, formulations
from fairlp.errors import CONTROL, FairlpError, FairlpWarning, FileFormatError
from fairlp.toolkit import home, lists, write_text

from ..dues.dues import Dues
from ..dues.facts import ClusterSource, Facts, facts_of
from ..dues.verdict import Verdict
from ..dues.weights import with_weights
from ..dues.words import named
from ..tables import counted, raw, short, shown
from .sections import Section, sections

#: Suffixes of other formats.
_OTHER_SUFFIXES = frozenset(
    {".pdf", ".png", ".svg", ".csv", ".txt", ".md", ".docx", ".xlsx", ".json", ".yaml", ".yml"}
)


class ReportNotAvailableError(FairlpError, ImportError):
    """A package that pages and charts need is not installed; the message says how to install it."""


def need(name: str) -> Any:
    """Return a module of an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ReportNotAvailableError(
            f'reports need {name}, which cannot be imported ({error}): pip install "fairlp[report]"'
        ) from None


def with_signs(value: Any) -> Any:
    r"""Return a text with a visible sign in place of each control character; other values as they are.

    What is to be on the page as it is, its script and pictures, is `Markup`.

    >>> with_signs("a\x1b[31m"), with_signs("b\u202e"), with_signs(3)
    ('a␛[31m', 'b�', 3)
    """
    return CONTROL.sub(_sign, value) if type(value) is str else value


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␤" if match[0] in "\u2028\u2029" else "�"


@lists(formulations.options.AllocateOptions)
def report(
    given: ClusterSource,
    output: str | Path,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    weights: Mapping[Any, float] | None = None,
    exclude: Iterable[str] = (),
    since: ClusterSource | None = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> Path:
    """Write a report as one page of HTML that needs no network.

    Parameters
    ----------
    given, mechanism, observed, **options
        As for :func:`fairlp_clusters.fair_shares`.
    output : str or Path
        The file, usually ``.html``; the page appears whole, and replaces a file of that name.
    weights : mapping, optional
        Other weights of queues or users, by name; ``queue:NAME`` and ``user:NAME`` where
        both have the name.
    exclude : iterable of str, optional
        Queues (with all below them) and users to leave out, such as namespaces of the system: their
        amounts count as used, and are no part of what is fair.
    since : Snapshot, Instance, str or Path, optional
        The same cluster before: the page also lists the users who moved, and those who still wait.

    Returns
    -------
    Path

    Raises
    ------
    FileFormatError
        Where the suffix is that of another format.
    ReportNotAvailableError
        Where Jinja is not installed: ``pip install "fairlp[report]"``.
    """
    require_html(output)
    need("jinja2")
    judged = verdict(
        given, mechanism, observed=observed, weights=weights, exclude=exclude, **options
    )
    earlier = None
    if since is not None:
        before = facts_of(since).without(exclude, required=False)
        earlier = earlier_dues(judged, before, mechanism, **options)
    return write(judged, output, earlier)


@lists(formulations.options.AllocateOptions)
def verdict(
    given: ClusterSource,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    weights: Mapping[Any, float] | None = None,
    exclude: Iterable[str] = (),
    **options: Unpack[formulations.options.AllocateOptions],
) -> Verdict:
    """Return which tenants are short, and why the others are not.

    Parameters
    ----------
    given, mechanism, observed, weights, exclude, **options
        As for :func:`fairlp_clusters.report`.

    Returns
    -------
    Verdict
        ``is_fair`` (None: no verdict), the ``sentence``, and the ``table`` of tenants, those that are
        short first; ``to_dict()`` is what ``fairlp report --json`` prints.

    Examples
    --------
    >>> import fairlp, fairlp_clusters
    >>> two = fairlp.Instance.from_arrays([[1], [1]], [[4]], users=["A", "B"])
    >>> verdict = fairlp_clusters.verdict(two, observed=[[3], [1]])
    >>> print(verdict.is_fair, verdict.table.loc["B", ["has", "due"]].to_dict())
    False {'has': 0.25, 'due': 0.5}
    """
    facts = adjusted(facts_of(given, observed), weights, exclude)
    return Verdict.of(Dues.of(facts, mechanism, **options))


def adjusted(facts: Facts, weights: Mapping[Any, float] | None, exclude: Iterable[str]) -> Facts:
    """Return facts with other weights and without some users; see :func:`report`."""
    remaining = facts.without(exclude)
    if not weights:
        return remaining
    return replace(remaining, instance=with_weights(remaining.instance, weights))


def earlier_dues(
    judged: Verdict, earlier: Facts, mechanism: str | Mechanism | None, **options: Any
) -> Dues:
    """Return what was due to the same cluster before; a warning where it seems to be another."""
    _warn_of_another_cluster(judged.dues.facts, earlier)
    return Dues.of(earlier, mechanism, **options)


def _warn_of_another_cluster(facts: Facts, earlier: Facts) -> None:
    """Warn where the earlier dump seems to be of another cluster: most servers have other names."""
    servers = set(map(str, facts.instance.servers))
    before = set(map(str, earlier.instance.servers))
    common = len(servers & before)
    if 2 * common >= min(len(servers), len(before)) and earlier.scheduler == facts.scheduler:
        return
    warnings.warn(
        f"the earlier dump has {common} of the {len(servers)} servers of this one: is it of the same "
        "cluster? Changes between two clusters mean nothing",
        FairlpWarning,
        stacklevel=3,
    )


def write(judged: Verdict, output: str | Path, earlier: Dues | None = None) -> Path:
    """Write the page of a verdict."""
    require_html(output)
    return write_text(home(output), page(judged, earlier))


def require_html(output: str | Path) -> None:
    """Raise where the suffix is that of another format."""
    suffix = Path(output).suffix.lower()
    if suffix in _OTHER_SUFFIXES:
        raise FileFormatError(
            f"cannot write {str(output)!r}: a report is a page of HTML, not {suffix}; expected "
            ".html"
        )


def page(judged: Verdict, earlier: Dues | None = None) -> str:
    """Return the page as text."""
    title = f"Fair shares of {judged.dues.facts.name or 'a cluster'}"
    return rendered(title, source_text(judged.dues), sections(judged, earlier))


def rendered(title: str, lead: str, parts: list[Section]) -> str:
    """Return a page of sections as text."""
    folder = files(__package__)
    css = folder.joinpath("page.css").read_text("utf-8")
    script = folder.joinpath("page.js").read_text("utf-8")
    template = folder.joinpath("page.html.j2").read_text("utf-8")
    jinja = need("jinja2")
    environment = jinja.Environment(
        autoescape=True, trim_blocks=True, undefined=jinja.StrictUndefined, finalize=with_signs
    )
    environment.filters |= {"shown": shown, "raw": raw, "short": short}
    return str(
        environment.from_string(template).render(
            title=title,
            lead=lead,
            sections=parts,
            css=css,
            script=script,
            policy=_policy(script),
            version=__version__,
        )
    )


def source_text(dues: Dues) -> str:
    """Return the dump's time, the scheduler with its version, its size, the rule and the files."""
    facts = dues.facts
    texts = []
    if not pd.isna(facts.time):
        texts.append(f"{facts.time:%Y-%m-%d %H:%M} {facts.time.tzname() or ''}".strip())
    if facts.scheduler:
        texts.append(f"{facts.scheduler} {facts.version}".strip())
    texts.append(counted(facts.node_count, "node", "nodes"))
    noun = facts.tenants.noun
    texts.append(counted(len(facts.tenants.names), noun, f"{noun}s"))
    if facts.jobs.any():
        texts.append(", ".join(f"{count:,} jobs {state}" for state, count in facts.jobs.items()))
    texts.append(f"fair by {dues.fair.mechanism}")
    if facts.files:
        texts.append(f"read from {named(facts.files, 'file')}")
    return " · ".join(texts)


def _policy(script: str) -> str:
    """Return the content policy of the page: this script and no other, and no address."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    others = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src 'sha256-{digest}'; {others}"
