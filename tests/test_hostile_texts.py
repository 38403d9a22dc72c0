"""Texts from outside, made so that a reader may look at each letter again and again."""

from __future__ import annotations

import json
import time

import pytest

import fairlp
import fairlp_clusters
import slurm_dumps
import yarn_dumps
from fairlp.errors import FairlpError, FileFormatError
from fairlp.models.files.frames import split_unit
from fairlp.models.files.programs import read_program
from fairlp.models.files.tables import read_tasks
from fairlp_clusters.readers.cluster import unique_labels
from fairlp_clusters.readers.dumps import duration
from kubernetes_dumps import node, pod, thing, volcano, written
from profiles import by_day

#: Letters of the shorter text: read in one pass it takes milliseconds, and where each letter is
#: looked at for each other one, many seconds.
LETTERS = 100_000
#: Seconds below which times are not compared.
FLOOR = 0.03
INSTANCE = fairlp.Instance.from_arrays([[1]], [[2]], users=["ann"], servers=["s"])


def repeated(text, letters):
    return text * (letters // len(text))


def file_of(suffix, read, make):
    """A door for a file: what writes it, and what reads it."""

    def write(folder, letters):
        path = folder / f"{letters}{suffix}"
        path.write_text(make(letters), encoding="utf-8")
        return path

    return write, read


def lp(make):
    return file_of(".lp", read_program, make)


def mps(make):
    return file_of(".mps", read_program, make)


def message(text):
    return (lambda folder, letters: FileFormatError(repeated(text, letters))), str


def dump(*items):
    """Kubernetes: objects, each made from the number of letters."""

    def write(folder, letters):
        folder = folder / str(letters)
        folder.mkdir(exist_ok=True)
        return written(folder, *[item(letters) for item in items])

    return write, fairlp_clusters.snapshot


def documents(**files):
    """Files of Slurm or YARN by name: text, or what becomes JSON."""

    def write(folder, letters):
        folder = folder / str(letters)
        folder.mkdir(exist_ok=True)
        for name, make in files.items():
            content = make(letters)
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / f"{name}.json").write_text(text, encoding="utf-8")
        return folder

    return write, fairlp_clusters.snapshot


def condition(make):
    """A condition, of which 100,000 letters are read at most."""

    def read(text):
        return fairlp.Instance.from_arrays([[1]], [[2]], eligible=[text])

    return (lambda folder, letters: make(letters // 2)), read


def config_map(name, **data):
    def make(letters):
        texts = {key: text(letters) for key, text in data.items()}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "kube-system"},
            "data": texts,
        }

    return make


def slurm_job(**fields):
    def jobs(letters):
        made = {key: make(letters) for key, make in fields.items()}
        return {"meta": {}, "jobs": [slurm_dumps.job(1, **{"nodes": "", **made})]}

    return documents(
        a=lambda letters: {"meta": {}, "nodes": [slurm_dumps.node("n1")]},
        b=jobs,
    )


def yarn_app(**fields):
    def apps(letters):
        made = {key: make(letters) for key, make in fields.items()}
        return {"apps": {"app": [yarn_dumps.app(1, **made)]}}

    return documents(
        a=lambda letters: {"nodes": {"node": [yarn_dumps.node("n1", (2048, 2))]}}, b=apps
    )


def status(make):
    return dump(
        lambda letters: node("n1"),
        lambda letters: pod("a", on="n1"),
        config_map("cluster-autoscaler-status", status=make),
    )


DOORS = {
    "lp names": lp(lambda n: f"min\n {repeated('x ', n)}\nend\n"),
    "lp signs": lp(lambda n: f"min\n x\nst\n c: x <= {'-' * n}7\nend\n"),
    "lp blanks in bounds": lp(lambda n: f"min\n x\nbounds\n 1 {' ' * n}!\nend\n"),
    "lp titles": lp(lambda n: f"min\n x\n{repeated('bounds ', n)}\nend\n"),
    "lp comments": lp(lambda n: f"{repeated(chr(92) + ' a ', n)}\nmin\n x\nend\n"),
    "mps dollars": mps(lambda n: f"NAME\nROWS\n N c\nCOLUMNS\n x c {repeated('1$ ', n)}\n"),
    "mps digits": mps(lambda n: f"* a: the other bound is exactly {'1' * n}!\nNAME\nROWS\n"),
    "mps words": mps(lambda n: f"NAME\nROWS\n N c\nCOLUMNS\n{repeated(' x', n)}\nENDATA\n"),
    "csv digits": file_of(
        ".csv", lambda path: read_tasks(path, INSTANCE), lambda n: f"user,s\nann,'{'1' * n}!\n"
    ),
    "csv apostrophes": file_of(
        ".csv", lambda path: read_tasks(path, INSTANCE), lambda n: f"user,s\n{chr(39) * n},1\n"
    ),
    "json": file_of(".json", fairlp.read, lambda n: '{"a": ' + "[" * n),
    "yaml": file_of(".yaml", fairlp.read, lambda n: "a: " + "[" * n),
    "header": ((lambda folder, n: "cpu" + " [" * n), split_unit),
    "condition backticks": condition(lambda n: "`" * n),
    "condition texts": condition(lambda n: repeated("'\\", n)),
    "duration": ((lambda folder, n: f"{'1' * n}!"), lambda text: duration(text, "every")),
    "duration blanks": ((lambda folder, n: f"1{' ' * n}!"), lambda text: duration(text, "every")),
    "arrays": message("array(["),
    "arrays of types": message("array([], dtype="),
    "arrays of pairs": message("array([(1)"),
    "numbers": message("np.int64("),
    "texts": message("np.str_('\""),
    "escaped texts": message("np.str_(\\'"),
    "apostrophes": ((lambda folder, n: FileFormatError("np.int64(" + "'" * n)), str),
    "autoscaler names": status(lambda n: repeated("Name: a Health: ", n)),
    "autoscaler sizes": status(
        lambda n: f"Name: a Health: {repeated('cloudProviderTarget=1 ', n)}"
    ),
    "autoscaler blanks": status(lambda n: f"Name:{' ' * n}!"),
    "autoscaler nesting": status(lambda n: "[" * n),
    "documents": documents(a=lambda n: repeated('{"items": []}', 4 * n)),
    "equal labels": ((lambda folder, n: ["a"] * (n // 5)), unique_labels),
    "volcano hierarchy": dump(
        lambda n: node("n1"),
        lambda n: pod("a", on="n1"),
        lambda n: volcano("q", {}, hierarchy="/" * n, hierarchy_weights="/" * n),
    ),
    "volcano configuration": dump(
        lambda n: node("n1"),
        lambda n: pod("a", on="n1"),
        config_map("volcano-scheduler-configmap", **{"volcano-scheduler.conf": lambda n: "[" * n}),
    ),
    "kubernetes quantity": dump(
        lambda n: node("n1"), lambda n: pod("a", on="n1", requests={"cpu": "1" * n})
    ),
    "quota": dump(
        lambda n: node("n1"),
        lambda n: pod("a", on="n1"),
        lambda n: thing("ResourceQuota", "q", {"hard": {"cpu": "1" * n + "!"}}, namespace="ml"),
    ),
    "slurm hosts": slurm_job(required_nodes=lambda n: "[" * n),
    "slurm ranges": slurm_job(required_nodes=lambda n: "n" + repeated("[1-3]", n)),
    "slurm array": slurm_job(array_task_string=lambda n: repeated("1-", n)),
    "slurm licences": slurm_job(licenses=lambda n: repeated("a:", n)),
    "slurm features": slurm_job(features=lambda n: "(" * n),
    "slurm gres": slurm_job(tres_req_str=lambda n: f"gres/gpu={'1' * n}!"),
    "yarn diagnostics": yarn_app(diagnostics=lambda n: f"a{' ' * n}!"),
    "yarn details": yarn_app(diagnostics=lambda n: repeated("Details ", n)),
    "yarn settings": documents(a=lambda n: "<configuration>" + repeated("<a>", n)),
}


def seconds(read, source):
    """The least of three: another process may take the processor during one."""
    times = []
    for _ in range(3):
        start = time.process_time()
        try:
            read(source)
        except FairlpError as error:
            assert len(str(error)) < 10_000
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("name", by_day(DOORS, 3))
def test_a_text_that_is_twice_as_long_takes_less_than_three_times_as_long(name, tmp_path):
    write, read = DOORS[name]
    once = seconds(read, write(tmp_path, LETTERS))
    twice = seconds(read, write(tmp_path, 2 * LETTERS))
    assert twice < 3 * max(once, FLOOR)
