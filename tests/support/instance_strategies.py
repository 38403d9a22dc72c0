"""Instances with everything that files and tables can hold: one, any (for hypothesis), and one in a document."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import yaml
from hypothesis import strategies as st

from fairlp.models.files import instances as files
from fairlp.models.instances.instance import Instance
from paths import DOCS

DOCUMENTATION = DOCS / "file-formats.md"
SUFFIXES = [".json", ".yaml", ".yml"]

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(
        [
            "no",
            "1e3",
            "010",
            "1:30",
            "2024-01-01",
            "null",
            "~",
            "a,b",
            'q"q',
            "'",
            "ß é 漢",
            " x ",
            "user",
        ]
    ),
)
AMOUNTS = st.one_of(
    st.integers(0, 10**6).map(float),
    st.floats(0, 1e12, allow_subnormal=False),
    st.sampled_from([0.1, 1e-9, 1 / 3, 1e22, 2.0**60]),
)
POSITIVE = AMOUNTS.filter(lambda x: x > 0)
ATTRIBUTE_VALUES = {
    "text": st.one_of(st.none(), TEXT),
    "int": st.one_of(st.none(), st.integers(-(2**70), 2**70)),
    "float": st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    "bool": st.one_of(st.none(), st.booleans()),
}


def labels(size, text_only=False):
    """Unique labels, all text or all whole numbers."""
    kinds = [st.lists(TEXT, min_size=size, max_size=size, unique=True)]
    if not text_only:
        kinds.append(st.lists(st.integers(-5, 10**9), min_size=size, max_size=size, unique=True))
    return st.one_of(kinds)


@st.composite
def attributes(draw, size, names=TEXT):
    """A table of attributes, each column of one type with gaps, or None."""
    columns = draw(st.dictionaries(names, st.sampled_from(sorted(ATTRIBUTE_VALUES)), max_size=3))
    if not columns:
        return None
    return pd.DataFrame(
        {
            name: pd.Series(
                draw(st.lists(ATTRIBUTE_VALUES[kind], min_size=size, max_size=size)), dtype=object
            )
            for name, kind in columns.items()
        }
    )


#: Names of queues: any text without a slash, and odd ones that files could take for something else.
NAMES = st.one_of(
    TEXT.map(lambda text: text.replace("/", "|")),
    st.sampled_from(["root", "queue", "007", ",", "a:b"]),
)
PATHS = st.lists(NAMES, max_size=3).map("/".join)


@st.composite
def trees(draw, n_users, resources):
    """What `from_arrays` takes of queues: the path of each user's, and weights, guarantees and caps; often neither."""
    if draw(st.booleans()):
        return {}
    amounts = st.dictionaries(
        st.sampled_from(resources), st.tuples(AMOUNTS, AMOUNTS).map(sorted), max_size=3
    )
    queues = {}
    for path in draw(st.lists(PATHS, max_size=4, unique=True)):
        limits = draw(amounts)
        guarantee = {r: low for r, (low, _) in limits.items() if draw(st.booleans())}
        cap = {r: high for r, (_, high) in limits.items() if draw(st.booleans())}
        weight = draw(st.just(1.0) | POSITIVE)
        queues[path] = {"weight": weight, "guarantee": guarantee, "cap": cap}
    if not queues:
        return {"queue": draw(st.lists(PATHS, min_size=n_users, max_size=n_users))}
    queue_names = st.sampled_from(sorted(queues))  # one that is nearly a listed one is refused
    return {
        "queue": draw(st.lists(queue_names, min_size=n_users, max_size=n_users)),
        "queues": queues,
    }


@st.composite
def instances(draw):
    """An instance with any of: odd labels, all weights, limits, counts, rates, conditions, lists, queues."""
    n_users, n_servers, n_resources = (draw(st.integers(1, 4)) for _ in range(3))

    def table(rows, columns, entries):
        flat = draw(st.lists(entries, min_size=rows * columns, max_size=rows * columns))
        return np.array(flat).reshape(rows, columns)

    demands, capacities = (
        table(n_users, n_resources, AMOUNTS),
        table(n_servers, n_resources, AMOUNTS),
    )
    demands[demands.sum(axis=1) == 0, 0] = 1
    capacities[0, capacities.sum(axis=0) == 0] = 1
    resources = draw(labels(n_resources, text_only=True))
    servers = draw(labels(n_servers))
    server_attributes = draw(attributes(n_servers))
    eligible = None
    if draw(st.booleans()):
        places = st.lists(st.sampled_from(servers), min_size=1, unique=True)
        entries = [
            st.none(),
            places,
            st.just("`gpu model` != 'T4'"),
            st.just("`gpu model` in ['P100']"),
        ]
        eligible = draw(st.lists(st.one_of(entries), min_size=n_users, max_size=n_users))
        if server_attributes is None:
            server_attributes = pd.DataFrame(index=range(n_servers))
        if "gpu model" not in resources:
            server_attributes = server_attributes.assign(
                **{"gpu model": ["P100"] + [None] * (n_servers - 1)}
            )
        else:
            eligible = None
    entitlements = None
    if draw(st.booleans()):
        entitlements = np.array(
            draw(st.lists(st.integers(1, 100), min_size=n_users, max_size=n_users)), dtype=float
        )
        entitlements /= entitlements.sum()
    fits = ((demands[:, None, :] == 0) | (capacities > 0)).all(axis=2)
    kinds = [
        st.none(),
        st.just(table(n_users, 1, POSITIVE)[:, 0]),
        st.just(table(n_users, n_resources, POSITIVE)),
    ]
    units = draw(
        st.dictionaries(
            st.sampled_from(resources), st.sampled_from(["cores", "GiB", "1/1000 GPU", "%"])
        )
    )
    users = draw(labels(n_users))
    about_users = draw(attributes(n_users))
    return Instance.from_arrays(
        demands,
        capacities,
        users=users,
        servers=servers,
        resources=resources,
        weights=draw(st.one_of(kinds)),
        eligible=eligible,
        task_limits=draw(
            st.none() | st.lists(st.none() | AMOUNTS, min_size=n_users, max_size=n_users)
        ),
        counts=draw(
            st.none() | st.lists(st.integers(1, 10**6), min_size=n_servers, max_size=n_servers)
        ),
        rates=draw(st.one_of(st.none(), st.just(table(n_users, n_servers, AMOUNTS) * fits))),
        entitlements=entitlements,
        **draw(trees(n_users, resources)),
        units=units,
        server_attributes=(
            None if server_attributes is None else server_attributes.set_axis(servers)
        ),
        user_attributes=None if about_users is None else about_users.set_axis(users),
        name=draw(st.one_of(st.just(""), TEXT)),
    )


def full_instance(**changes):
    """An instance with everything that all formats hold."""
    cpu, memory = changes.get("resources", ["cpu", "memory size"])
    fields = {
        "demands": [[1, 4], [3, 1e-05], [0.1, 0]],
        "capacities": [[9, 18], [1 / 3, 64]],
        "users": ["ann, the 1st", 'b"ob', "çelik\n"],
        "servers": [10, 20],
        "resources": ["cpu", "memory size"],
        "weights": [[1, 2], [3, 4], [0.5, 0]],
        "eligible": ["gpu_model in ['T4', 'P100'] and cpu > 1", [20], None],
        "task_limits": [np.inf, 10, 0],
        "counts": [5, 1],
        "rates": [[1, 2.5], [0, 1 / 3], [0, 0]],
        "entitlements": [0.2, 0.3, 0.5],
        "queue": ["org/team, 1", 'org/"x"', ""],
        "queues": {
            "": {"cap": {cpu: 1e3}},
            "org": {"weight": 2.5, "guarantee": {cpu: 1 / 3}, "cap": {cpu: 40}},
            "idle/007": {"guarantee": {memory: 1}},
        },
        "units": {"cpu": "1/1000 core", "memory size": "GiB"},
        "server_attributes": pd.DataFrame(
            {"gpu_model": ["T4", None], "ssd": [True, False], "zip": ["007", "1"]}, [10, 20]
        ),
        "user_attributes": pd.DataFrame(
            {"arrival": [0, 3.5, None], "priority": [1, 2, 3], "team": ["a", None, "b"]}
        ),
        "name": "naïve, 'full'",
    }
    if "user_attributes" not in changes:
        users = changes.get("users", fields["users"])
        fields["user_attributes"] = fields["user_attributes"].set_axis(users)
    return Instance.from_arrays(**(fields | changes))


def written(tmp_path, suffix, instance=None):
    """Where the full instance, or another, was written."""
    path = tmp_path / f"instance{suffix}"
    files.write(full_instance() if instance is None else instance, path)
    return path


def document():
    """The document of docs/file-formats.md."""
    return yaml.safe_load(
        re.search(r"```yaml\n(.*?)```", DOCUMENTATION.read_text(encoding="utf-8"), re.DOTALL)[1]
    )


def read_text(tmp_path, text, suffix=".yaml"):
    """What is read from a file of this text."""
    path = tmp_path / f"hand{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return files.read(path)
