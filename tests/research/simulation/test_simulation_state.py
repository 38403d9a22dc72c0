"""Saved states hold data only: they run nothing, survive to the bit, and one that is damaged or not ours is refused."""

from __future__ import annotations

import io
import pickle
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_simulation import trace

from fairlp import Instance, simulation
from fairlp.errors import FairlpError, FileFormatError, InstanceError, StudyError
from fairlp.models.files.arrays import Arrays, read_arrays, write_arrays
from fairlp.research.simulation import Workload, simulate
from fairlp.research.simulation.engine import Engine
from fairlp.research.simulation.fluid import Fluid
from profiles import by_day, many

POLICIES = ["best-fit", "slots", "drfh", "psdsf-tdm-distributed"]


class Evil:
    """What a pickle may do."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code of a stranger ran')",)


SAVED = {}


def stopped(policy, state, events=30, **options):
    """Save the state of a small trace after so many events, run once; return what is needed to go on."""
    key = (policy, events, *options.items())
    if key not in SAVED:
        SAVED[key] = *run_and_save(policy, state, events, options), state.read_bytes()
    *found, content = SAVED[key]
    state.write_bytes(content)
    return found


def run_and_save(policy, state, events, options):
    workload, cluster, _ = trace(np.random.default_rng(5), jobs=40)
    run = simulation._simulation(cluster, workload, policy, 14, options, weights=None, every=1)
    assert not run.run(float("inf"), events)
    key = simulation._key(cluster, workload, policy, None, 14, 1, options)
    simulation._save(state, key, run)
    return workload, cluster, key


@pytest.mark.parametrize("events", [1, 13, 40])
@pytest.mark.parametrize(
    ("policy", "options"),
    [*((policy, {}) for policy in POLICIES), ("psdsf-rdm-distributed", {"delay": 3.0, "period": 2.0})],
)
def test_what_is_read_is_what_was_written(policy, options, events, tmp_path):
    state, again = tmp_path / "state", tmp_path / "again"
    workload, cluster, key = stopped(policy, state, events, **options)
    run = simulation._simulation(cluster, workload, policy, 14, options, weights=None, every=1)
    simulation._load(state, key, run)
    simulation._save(again, key, run)
    assert again.read_bytes() == state.read_bytes()
    whole = simulate(cluster, workload, policy, every=1, **options)
    resumed = simulate(cluster, workload, policy, every=1, state=state, **options)
    assert resumed.utilization.equals(whole.utilization) and resumed.jobs.equals(whole.jobs)
    assert not state.exists()


def test_whole_numbers_beyond_64_bits_survive(tmp_path):
    """Capacities of 2⁷⁰ and weights without a small common multiple: amounts and shares are Python's own integers."""
    rng = np.random.default_rng(0)
    rows = [
        (f"u{k % 5}", k // 3, 3, int(rng.integers(1, 9)), float(rng.integers(1, 5)) * 2.0**68, k % 7 + 1 / 3)
        for k in range(40)
    ]
    columns = ["user", "arrival", "tasks", "duration", "cpu", "memory"]
    workload = Workload.of(pd.DataFrame(rows, columns=columns), ["cpu", "memory"])
    capacities = [[2.0**70, 9.1], [2.0**71 + 2.0**20, 11.7]]
    cluster = Instance.from_arrays([[1, 1]], capacities, resources=["cpu", "memory"], counts=[2, 1])
    weights = {f"u{k}": 1 / float(rng.random()) for k in range(5)}

    def begun():
        return simulation._simulation(cluster, workload, "best-fit", 14, {}, weights=weights, every=1)

    (whole := begun()).run(float("inf"))
    run, over = begun(), False
    while not over:
        over = run.run(float("inf"), 3)
        simulation._save(tmp_path / "state", "", run)
        simulation._load(tmp_path / "state", "", again := begun())
        assert (again.share, again.held, again.events) == (run.share, run.held, run.events)
        assert (again.servers.free == run.servers.free).all() and again.pending == run.pending
        if run.next_job == 9:
            assert max(run.share).bit_length() > 128 and max(map(max, run.held)).bit_length() > 64
            assert again.servers.free.dtype == object and again.blocked
        run = again
    assert np.array_equal(run.finish, whole.finish) and run.decisions == whole.decisions


def test_a_pickle_is_not_read(tmp_path):
    state = tmp_path / "state"
    workload, cluster, key = stopped("best-fit", state)
    objects = np.empty(1, dtype=object)
    objects[0] = Evil()
    inside = io.BytesIO()
    np.savez(inside, document=objects)
    array = io.BytesIO()
    np.save(array, objects)
    for content in (pickle.dumps((key, Evil())), pickle.dumps(Evil(), 0), inside.getvalue(), array.getvalue()):
        state.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"holds no state of a simulation .*remove it to start afresh"):
            simulate(cluster, workload, "best-fit", every=1, state=state)


def test_no_file_of_fairlp_is_a_pickle():
    from pathlib import Path

    import fairlp

    # a process and the one that it began itself hand each other objects through pipes
    pipes = {"processes.py", "worker.py"}
    for path in Path(fairlp.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "library" and path.name in pipes:
            assert not any(word in text for word in (" open(", ".open(", "Path")), path
            continue
        assert not any(f"import {name}" in text for name in ("pickle", "marshal", "shelve", "dill", "cloudpickle")), (
            path
        )


def change(state, **changes):
    kept = read_arrays(state, "state")
    write_arrays(state, kept.document | changes, kept._arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fairlp_simulation": 2}, r"version 2 of the format.* and this is .*version 1"),
        ({"fairlp": "0.0.1"}, r"was written by fairlp 0\.0\.1 .*remove the file"),
        ({"simulation": "0" * 64}, "holds the state of another simulation"),
    ],
)
def test_a_state_of_another_version_or_simulation_is_refused(changes, message, tmp_path):
    state = tmp_path / "state"
    workload, cluster, _ = stopped("best-fit", state)
    change(state, **changes)
    with pytest.raises(StudyError, match=message):
        simulate(cluster, workload, "best-fit", every=1, state=state)


def test_another_cluster_workload_or_option_is_another_simulation(tmp_path):
    state = tmp_path / "state"
    workload, cluster, _ = stopped("best-fit", state)
    others = [
        (cluster.replace(counts=cluster.counts + 1), workload, "best-fit", {}),
        (cluster, workload.scaled(duration=2), "best-fit", {}),
        (cluster, workload, "first-fit", {}),
        (cluster, workload, "best-fit", {"weights": {workload.users[0]: 2.0}}),
        (cluster, workload, "drfh", {}),
    ]
    before = state.read_bytes()
    for other, jobs, policy, how in others:
        with pytest.raises(StudyError, match="holds the state of another simulation"):
            simulate(other, jobs, policy, every=1, state=state, **how)
    assert state.read_bytes() == before


def entry(content, name="document.npy", **how):
    """The bytes of an archive with one entry."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **how) as packed:
        packed.writestr(name, content)
    return file.getvalue()


def header(shape, kind="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


def document(text):
    return header((len(text),), "|u1") + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 1000,
        entry(b""),
        entry(header((10**12,))),
        entry(header((10**30, 0))),
        entry(header((-1,)) + b"12345678"),
        entry(header((0,), "|O")),
        entry(header((1,), "<U4") + b"\0" * 16),
        entry(b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535),
        entry(b"\0" * 50_000_000, compression=zipfile.ZIP_DEFLATED),
        entry(document(b"[" * 9000)),
        entry(document(b"[1]")),
        entry(document(b"1" * 9000)),
        entry(document(b"{}")),
        entry(document(b'{"fairlp_simulation"')),
        entry(document(b"{}"), name="x.npy"),
    ],
)
def test_an_archive_made_to_do_damage_is_refused_at_once(content, tmp_path):
    (state := tmp_path / "state").write_bytes(content)
    workload, cluster, _ = trace(np.random.default_rng(5))
    begin = time.perf_counter()
    with pytest.raises(FileFormatError, match="holds no state of a simulation") as caught:
        simulate(cluster, workload, "best-fit", state=state)
    assert time.perf_counter() - begin < 5 and len(str(caught.value)) < 500


@pytest.mark.parametrize("policy", by_day(POLICIES, 3))
def test_a_part_that_is_missing_or_wrong_is_named(policy, tmp_path):
    state = tmp_path / "state"
    workload, cluster, _ = stopped(policy, state)
    kept = read_arrays(state, "state")
    for name, array in kept._arrays.items():
        longer = np.zeros((3, *array.shape), dtype=array.dtype)
        for wrong in (None, longer, np.zeros(array.shape, np.uint8)):
            arrays = {other: value for other, value in kept._arrays.items() if other != name or wrong is not None}
            write_arrays(state, kept.document, arrays | ({} if wrong is None else {name: wrong}))
            with pytest.raises(FileFormatError, match=f"'.*state' is damaged: .*'{name}'.*; remove it"):
                simulate(cluster, workload, policy, every=1, state=state)
    if policy.endswith("distributed"):
        for wrong in (None, {}, {**kept.document["random"], "state": {"state": -1, "inc": 2**200}}):
            write_arrays(state, kept.document | {"random": wrong}, kept._arrays)
            with pytest.raises(FileFormatError, match="random numbers"):
                simulate(cluster, workload, policy, every=1, state=state)


@settings(deadline=None, max_examples=many(60))
@given(data=st.data(), policy=st.sampled_from(POLICIES))
def test_a_state_with_other_numbers_is_refused_or_goes_on(data, policy, tmp_path_factory):
    """Numbers of a stranger, where they can be at all, give a wrong answer, and no more than that."""
    state = tmp_path_factory.mktemp("numbers") / "state"
    workload, cluster, key = stopped(policy, state)
    kept = read_arrays(state, "state")
    names = [name for name, array in kept._arrays.items() if array.size and array.dtype == np.int64]
    name = data.draw(st.sampled_from(names))
    array = kept._arrays[name].copy()
    array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from([-1, 0, 1, 5, 2**40]))
    write_arrays(state, kept.document, {**kept._arrays, name: array})
    run = simulation._simulation(cluster, workload, policy, 14, {}, weights=None, every=1)
    try:
        simulation._load(state, key, run)
    except FairlpError:
        return
    run.run(float("inf"), 20)


@settings(deadline=None, max_examples=many(60))
@given(data=st.data())
def test_a_state_that_was_cut_or_changed_is_refused(data, tmp_path_factory):
    state = tmp_path_factory.mktemp("cut") / "state"
    workload, cluster, key = stopped("best-fit", state)
    content = bytearray(state.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content[at] ^= data.draw(st.integers(1, 255))
    state.write_bytes(content)
    run = simulation._simulation(cluster, workload, "best-fit", 14, {}, weights=None, every=1)
    try:
        simulation._load(state, key, run)
    except FairlpError as error:
        assert len(str(error)) < 1000
        return
    simulation._save(state, key, run)  # a byte that says nothing, such as the time of an entry
    assert read_arrays(state, "state").document["simulation"] == key


# States of simulations with planted errors, users who wait, weights, and jobs that fit nowhere; done by hand.


def cluster(*capacities, **more):
    return Instance.from_arrays([[1.0]], np.array(capacities, dtype=float)[:, None], resources=["cpu"], **more)


def workload(*jobs, **more):
    """Jobs as (user, arrival, tasks, duration, cpu)."""
    table = pd.DataFrame(jobs, columns=["user", "arrival", "tasks", "duration", "cpu"])
    return Workload.of(table.assign(**more), ["cpu"])


def engine(jobs, *capacities, policy="first-fit", **more):
    return Engine(cluster(*capacities), jobs, policy, **more)


BUSY = workload(("a", 0, 3, 5, 1), ("b", 0, 4, 7, 1), ("a", 2, 2, 3, 1))


def kept(**changes):
    """A state after the first event, with planted parts, as a new engine is to go on from it."""
    run = engine(BUSY, 4.0)
    assert not run.run(float("inf"), 1)
    arrays, _ = run.state()
    return Arrays(Path("state"), {}, arrays | {name.replace("_", ".", 1): np.array(v) for name, v in changes.items()})


def test_a_state_that_is_right_is_gone_on_from():
    first, again = engine(BUSY, 4.0), engine(BUSY, 4.0)
    again.restore(kept())
    assert first.run(float("inf")) and again.run(float("inf"))
    assert again.finish.tolist() == first.finish.tolist() and (again.done == [5, 4]).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"left": [3, 4, 0]}, "more tasks run or wait"),
        ({"left": [1, 2, 1]}, "more tasks run or wait"),
        ({"event_time": [-1.0, 5.0, 7.0, 7.0]}, "ended before now"),
    ],
)
def test_a_state_of_tasks_that_cannot_be_is_refused(changes, words):
    with pytest.raises(FileFormatError, match=words):
        engine(BUSY, 4.0).restore(kept(**changes))


def test_a_state_that_overfills_a_server_is_refused():
    """Four tasks run on a server of 4; in the file all run on one that holds 1 beside it."""
    jobs = workload(("a", 0, 4, 5, 1))
    run = engine(jobs, 3.0, 1.0)
    run.run(float("inf"), 1)
    arrays, _ = run.state()
    assert sorted(arrays["event.server"].tolist()) == [0, 0, 0, 1]
    moved = Arrays(Path("state"), {}, arrays | {"event.server": np.array([0, 0, 1, 1])})
    with pytest.raises(FileFormatError, match="more runs on a server than it holds"):
        engine(jobs, 3.0, 1.0).restore(moved)


def test_whoever_was_blocked_runs_when_there_is_room():
    run = engine(workload(("a", 0, 1, 5, 3), ("b", 0, 1, 2, 3)), 4.0)
    assert run.run(float("inf")) and run.finish.tolist() == [5, 7]


def test_what_ends_is_held_no_more_and_weights_count():
    """The first user had the server; of what is freed both have half, or by weight."""
    for weights, expected in (({}, [2, 2]), ({"b": 3.0}, [1, 3])):
        run = engine(workload(("a", 0, 4, 1, 1), ("a", 1, 4, 9, 1), ("b", 1, 4, 9, 1)), 4.0, weights=weights)
        run.run(1.0)
        assert run.active.tolist() == expected


def test_a_blocked_user_stays_off_servers_where_it_may_not_run():
    kinds = pd.DataFrame({"kind": ["old", "new"]})
    servers = cluster(2.0, 2.0, server_attributes=kinds)
    jobs = workload(
        ("a", 0, 1, 1, 2),
        ("b", 0, 1, 5, 2),
        ("c", 0, 1, 1, 2),
        eligible=["kind == 'old'", "kind == 'new'", "kind == 'new'"],
    )
    run = Engine(servers, jobs, "first-fit")
    assert run.run(float("inf")) and run.finish.tolist() == [1, 5, 6]
    run = Engine(servers, jobs, "first-fit")
    run.run(1.0)
    assert run.blocked == {2} and run.decisions == 3


@pytest.mark.parametrize("kind", ["engine", "fluid"])
def test_jobs_that_fit_nowhere_are_refused_and_those_without_tasks_end(kind):
    jobs = workload(("a", 0, 1, 5, 9), ("b", 1, 0, 5, 1), ("b", 2, 1, 5, 1))
    run = engine(jobs, 4.0) if kind == "engine" else Fluid(cluster(4.0), jobs, "drf")
    assert run.run(float("inf")) and run.finish[1] == 1
    if kind == "engine":
        assert run.refused == [0] and run.finish[2] == 7


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_no_weights_are_refused(weight):
    with pytest.raises(InstanceError, match="expected a number above 0"):
        engine(BUSY, 4.0, weights={"a": weight})


def test_samples_are_at_multiples_of_their_interval():
    run = engine(workload(("a", 0.25, 1, 5, 1), ("a", 0.7, 1, 3.3, 1)), 4.0, every=1.5)
    run.run(6.0)
    assert run.times == [0, 1.5, 3, 4.5, 6]
    assert [int(sample.running[0]) for sample in run.samples] == [0, 2, 2, 1, 0]


def test_half_the_work_of_a_job_is_half_its_tasks():
    run = Fluid(cluster(4.0), workload(("a", 0, 8, 5, 1)), "drf")
    run.run(5.0)
    assert run.completed().tolist() == pytest.approx([4])
