"""Every reader on mutated files: an error of fairlp or a value, soon; never a crash, a warning of Python, or a hang."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import fairlp
from fairlp.errors import FairlpError
from fairlp.models.files.tables import read_tasks
from fairlp_research import study
from fairlp_research.simulation import Workload, generators
from fairlp_research.traces import (
    read_alibaba_gpu,
)
from profiles import many
from program_files import CASES

#: Seconds that a small file may take, on a busy machine.
SOON = 10
INSTANCE = fairlp.Instance.from_arrays(
    [[1, 2.5], [3, 0]],
    [[4, 5], [6, 7e9]],
    users=["ann", "b,o"],
    resources=["cpu", "memory"],
    units={"cpu": "cores"},
    counts=[1, 2],
    weights=[1, 0.5],
    task_limits=[np.inf, 7],
    eligible=["kind == 'a' or memory >= 6", None],
    server_attributes=pd.DataFrame({"kind": ["a", None], "since": [1, 2.5]}),
    name="fuzzed",
)
PLAIN = {
    "name": "plain",
    "generator": "uniform-integers",
    "grid": {"users": [2, 3], "resources": [2], "demands": [[1, 10]]},
    "mechanisms": {"a": {"mechanism": "drf", "method": "lp"}, "b": "asset"},
    "statistics": ["summary", {"name": "deviation", "of": "a", "from": "b"}],
    "runs": 2,
    "seed": 7,
}
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,32000,1024,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,12000,16384,1,1000,,LS,Running,0,12537496,0\np1,6000,12288,1,460,P100|G2,LS,Running,4,12902960,5\n"
)
JOBS = "job,user,arrival,tasks,duration,eligible,cpu\nj1,ann,0,3,5.5,kind == 'a',1\nj2,bob,1e1,2,3,,0.25\n"


PROGRAMS = {
    "full.mps": {"profile": "full"}, "fixed.mps": {"profile": "fixed"}, "a.lp": {}, "b.lp": {"constant": "term"}
}  # fmt: skip


def texts():
    """A valid file for each reader: name → (text, reader)."""
    from tempfile import TemporaryDirectory

    contents = {}
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        for suffix in (".json", ".yaml"):
            INSTANCE.write(directory / f"i{suffix}")
            study.Study.from_dict(PLAIN).write(directory / f"s{suffix}")
            contents[f"i{suffix}"] = (
                (directory / f"i{suffix}").read_text(encoding="utf-8"),
                fairlp.read,
            )
            contents[f"s{suffix}"] = (
                (directory / f"s{suffix}").read_text(encoding="utf-8"),
                study.Study.read,
            )
        for case in ("ranges", "integers", "names"):
            for name, options in PROGRAMS.items():
                CASES[case].write(path := directory / name, **options)
                contents[f"{case} {name}"] = path.read_text(encoding="ascii"), read_sound
    contents["jobs.csv"] = JOBS, Workload.read_csv
    contents["pods.csv"] = PODS, generators.alibaba
    contents["trace.csv"] = PODS, lambda changed: read_alibaba_gpu(_beside(changed, NODES), changed)
    contents["nodes.csv"] = NODES, lambda changed: read_alibaba_gpu(changed, _beside(changed, PODS))
    contents["wide.csv"] = (
        'user,server1,server2\nann,1,0.5\n"b,o",0,2\n',
        lambda path: read_tasks(path, INSTANCE),
    )
    contents["long.csv"] = (
        "user,server,tasks\nann,server1,1\nann,server2,2e0\n",
        lambda path: read_tasks(path, INSTANCE),
    )
    return contents


def _beside(path, text):
    """Write a file that belongs to another."""
    other = path.with_name("other.csv")
    other.write_text(text, encoding="utf-8")
    return other


def read_sound(path):
    """Read a program, and see that it can be one."""
    p = fairlp.read_program(path)
    assert np.isfinite([p.offset, *p.c, *p.A.data]).all()
    assert (p.row_lower <= p.row_upper).all() and (p.col_lower <= p.col_upper).all()
    assert p.A.shape == (len(p.row_names), len(p.column_names))
    assert p.A.has_canonical_format and (p.A.data != 0).all()


TEXTS = texts()
WORDS = """
    0 1 -1 1e999 1e308 1e-320 1e30 9999999999999999999999 nan inf null true ~ ' " , ; : - [ ] { } ( ) & * &a *a ! | > #
    [[[[[[ {} [] "" user cpu fairlp rates kind=='a 1_0 0x10 1:30 2024-01-01 <<: eligible attributes: entitlement: count
    nan - + <= >= = ^ RHS ENDATA End BOUNDS Bounds RANGES MAX * $ 'MARKER' 'INTORG' 'INTEND' UP FR BV free x N OBJSENSE
    OBJNAME NAME . e5 ١ os:system '' ` \\ \\u0000 \\ud800 ": é "entitlement":1,
"""
PIECES = [
    *WORDS.split(),
    "\n",
    "\r",
    "\t",
    " ",
    "\0",
    "\ufeff",
    "\u2028",
    "\n- ",
    "\n  ",
    "general\n",
    "bin\n",
    "st\n",
    "max\n",
    "\u00a0",
    "9" * 400,
    "a" * 300,
]


@st.composite
def mutated(draw, text):
    """A text with a few things put in, cut out, doubled or moved."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.sampled_from([0, 0, 1, 2, 10, 100])))
        kind = draw(st.sampled_from(["piece", "piece", "piece", "twice", "cut", "number"]))
        if kind == "piece":
            text = text[:start] + draw(st.sampled_from(PIECES)) + text[stop:]
        elif kind == "twice":
            text = text[:stop] + text[start:]
        elif kind == "cut":
            text = text[:start]
        else:
            digits = [k for k, letter in enumerate(text) if letter.isdigit()]
            if digits:
                position = draw(st.sampled_from(digits))
                text = text[:position] + draw(st.sampled_from(PIECES)) + text[position + 1 :]
    return text


def assert_read_or_refused_soon(read, path):
    """A file is refused by an error of fairlp that is not too long, or read; soon."""
    start = time.perf_counter()
    try:
        read(path)
    except FairlpError as error:
        assert str(error) and len(str(error)) < 10_000
    finally:
        assert time.perf_counter() - start < SOON


@pytest.mark.parametrize("name", sorted(TEXTS))
@settings(deadline=None, max_examples=many(40), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_mutated_file(name, data, tmp_path_factory):
    text, read = TEXTS[name]
    folder = tmp_path_factory.mktemp("fuzz")
    path = folder / name
    path.write_bytes(data.draw(mutated(text)).encode("utf-8", "surrogatepass"))
    assert_read_or_refused_soon(read, path)


@pytest.mark.parametrize("name", sorted(TEXTS))
@settings(deadline=None, max_examples=many(15))
@given(content=st.binary(max_size=300))
def test_any_bytes(name, content, tmp_path_factory):
    path = tmp_path_factory.mktemp("bytes") / name
    path.write_bytes(content)
    assert_read_or_refused_soon(TEXTS[name][1], path)


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.integers(2**62, 2**70), st.floats(), st.text(max_size=5),
        st.sampled_from([10**30, -(10**30), 1e308, 5e-324, "", "drf", "summary", "kind == 'a'", "a" * 500]),
    ),
    lambda parts: st.one_of(st.lists(parts, max_size=3), st.dictionaries(st.text(max_size=5), parts, max_size=3)),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.parametrize("name", ["i.json", "s.json"])
@settings(deadline=None, max_examples=many(150))
@given(data=st.data())
def test_another_value_anywhere_in_a_document(name, data, tmp_path_factory):
    text, read = TEXTS[name]
    document = json.loads(text)
    places = [(document, key) for key in document]
    for place, key in places:  # grows while it is walked: every part of every part
        container = place[key]
        places += (
            [
                (container, k)
                for k in (container if isinstance(container, dict) else range(len(container)))
            ]
            if isinstance(container, dict | list)
            else []
        )
    place, key = data.draw(st.sampled_from(places))
    place[key] = data.draw(VALUES)
    path = tmp_path_factory.mktemp("value") / name
    path.write_text(
        json.dumps(document).replace("Infinity", "1e999").replace("NaN", "null"), encoding="utf-8"
    )
    assert_read_or_refused_soon(read, path)
