"""``report``: one self-contained page of HTML, with its script and its pictures."""

from __future__ import annotations

import base64
import hashlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack

from fairlp import Mechanism, __version__, formulations
from fairlp.errors import FairlpWarning, FileFormatError
from fairlp.toolkit import home, lists, write_text

from ..dues.share_comparison import ShareComparison
from ..dues.subject import ClusterSource, Subject, subject_of
from ..dues.weights import with_weights
from .charts import Picture, drawn, need
from .facts import Facts
from .sections import Section, raw, sections, short, shown
from .wording import with_signs

#: Suffixes of other formats.
_OTHER_SUFFIXES = frozenset(
    {".pdf", ".png", ".svg", ".csv", ".txt", ".md", ".docx", ".xlsx", ".json", ".yaml", ".yml"}
)


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
        Where Matplotlib or Jinja is not installed: ``pip install "fairlp[report]"``.
    """
    require_html(output)
    subject = adjusted(subject_of(given, observed), weights, exclude)
    earlier = None if since is None else subject_of(since).without(exclude, required=False)
    return write(facts(subject, mechanism, earlier, **options), output)


def adjusted(
    subject: Subject, weights: Mapping[Any, float] | None, exclude: Iterable[str]
) -> Subject:
    """Return a subject with other weights and without some users; see :func:`report`."""
    remaining = subject.without(exclude)
    if not weights:
        return remaining
    return replace(remaining, instance=with_weights(remaining.instance, weights))


def facts(
    subject: Subject,
    mechanism: str | Mechanism | None = None,
    earlier: Subject | None = None,
    **options: Any,
) -> Facts:
    """Return the facts of a page; see :func:`report`."""
    require_packages()
    before = None
    if earlier is not None:
        _warn_of_another_cluster(subject, earlier)
        before = ShareComparison.of(earlier, mechanism, **options)
    return Facts(ShareComparison.of(subject, mechanism, **options), before)


def require_packages() -> None:
    """Raise where a package that pages need is missing, before anything is computed."""
    for name in ("matplotlib", "jinja2"):
        need(name)


def _warn_of_another_cluster(subject: Subject, earlier: Subject) -> None:
    """Warn where the earlier dump seems to be of another cluster: most servers have other names."""
    servers = set(map(str, subject.instance.servers))
    before = set(map(str, earlier.instance.servers))
    common = len(servers & before)
    if 2 * common >= min(len(servers), len(before)) and earlier.scheduler == subject.scheduler:
        return
    warnings.warn(
        f"the earlier dump has {common} of the {len(servers)} servers of this one: is it of the same "
        "cluster? Changes between two clusters mean nothing",
        FairlpWarning,
        stacklevel=3,
    )


def write(facts: Facts, output: str | Path) -> Path:
    """Write the page of these facts."""
    require_html(output)
    return write_text(home(output), page(facts))


def require_html(output: str | Path) -> None:
    """Raise where the suffix is that of another format."""
    suffix = Path(output).suffix.lower()
    if suffix in _OTHER_SUFFIXES:
        raise FileFormatError(
            f"cannot write {str(output)!r}: a report is a page of HTML, not {suffix}; expected "
            ".html"
        )


def page(facts: Facts) -> str:
    """Return the page as text."""
    subject = facts.share_comparison.subject
    title = f"Fair shares of {subject.name or 'a cluster'}"
    return rendered(title, _lead(facts), sections(facts), drawn(facts))


def rendered(title: str, lead: str, parts: list[Section], pictures: Mapping[str, Picture]) -> str:
    """Return a page of sections as text; they name the charts that they show."""
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
            pictures=pictures,
            css=css,
            script=script,
            policy=_policy(script),
            version=__version__,
        )
    )


def _lead(facts: Facts) -> str:
    comparison = facts.share_comparison
    source = f"A dump of {comparison.subject.scheduler}. " if comparison.subject.scheduler else ""
    fair = comparison.fair.mechanism
    if comparison.subject.tasks is None:
        return f"{source}What {fair} gives to everyone; what runs now is not known."
    return f"{source}What runs now, beside what is fair by {fair}."


def _policy(script: str) -> str:
    """Return the content policy of the page: this script and no other, and no address."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    others = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src 'sha256-{digest}'; {others}"
