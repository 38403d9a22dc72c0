"""A digest of every answer, file and study, one a line: two versions that print the same lines give the same answers.

    python benchmarks/digests.py > before.txt
    python benchmarks/digests.py > after.txt && diff before.txt after.txt

Answers are those of all mechanisms and methods on the instances that ship and on random ones; what is refused has the
kind of its error for a digest. Tasks are compared to ``--digits`` significant digits (17: every bit of a float).
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import fairlp
import fairlp_research

#: Users times servers of an example that is not passed over: integer programs of larger ones take minutes.
MOST_PAIRS = 200
INSTANCE_FILES = ("instance.json", "instance.yaml", "instance.toml")
MODEL_FILES = ("model.mps", "model.lp", "model.tex", "model.txt")


def digest_of(data: bytes | str) -> str:
    """Return the first digits of the hash of a text."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


def digest_of_numbers(numbers: np.ndarray, digits: int) -> str:
    """Return the digest of numbers, each printed to so many digits."""
    return digest_of(" ".join(f"{number:.{digits - 1}e}" for number in np.ravel(numbers) + 0.0))


def shipped_instances() -> Iterator[tuple[str, fairlp.Instance]]:
    """Yield every small example that needs no argument."""
    for name in fairlp.examples.names():
        try:
            instance = fairlp.examples.load(name)
        except TypeError:
            continue
        if len(instance.users) * len(instance.servers) <= MOST_PAIRS:
            yield name, instance


def random_instances(count: int) -> Iterator[tuple[str, fairlp.Instance]]:
    """Yield random instances: one pool and several servers, zeros, ties, weights, limits, and queues."""
    for seed in range(count):
        random = np.random.default_rng(seed)
        n_users, n_servers = int(random.integers(1, 7)), int(random.integers(1, 5))
        n_resources = int(random.integers(1, 4))
        demands = random.integers(0, 5, (n_users, n_resources)).astype(float)
        demands[demands.sum(axis=1) == 0, 0] = 1
        capacities = random.integers(4, 40, (n_servers if seed % 2 else 1, n_resources)) * 1.0
        options = {}
        if seed % 3 == 0:
            options["weights"] = random.integers(1, 4, n_users) * 1.0
        if seed % 4 == 1:
            options["task_limits"] = random.integers(1, 6, n_users) * 1.0
        if seed % 5 == 2:
            options["queue"] = [
                ("a", "b/c", "b/d")[number] for number in random.integers(0, 3, n_users)
            ]
        if seed % 2 and seed % 7 < 4:
            eligible = random.random((n_users, len(capacities))) < 0.7
            eligible[np.arange(n_users), random.integers(0, len(capacities), n_users)] = True
            options["eligible"] = eligible
        yield f"random {seed}", fairlp.Instance.from_arrays(demands, capacities, **options)


def lines_of_answers(name: str, instance: fairlp.Instance, digits: int) -> Iterator[str]:
    """Yield the digest of every mechanism and method on one instance."""
    for mechanism, row in fairlp.mechanisms().iterrows():
        for method in str(row["methods"]).split(", "):
            try:
                allocation = fairlp.allocate(instance, mechanism, method=method)
            except fairlp.FairlpError as error:
                yield f"{name} | {mechanism} | {method}: {type(error).__name__}"
                continue
            if hasattr(allocation, "at"):
                steps = [allocation.at(step) for step in range(1, len(instance.users) + 1)]
                tasks = np.concatenate([np.ravel(step.tasks) for step in steps])
            else:
                tasks = allocation.tasks.to_numpy()
            yield f"{name} | {mechanism} | {method}: {digest_of_numbers(tasks, digits)}"


def lines_of_files(name: str, instance: fairlp.Instance, folder: Path) -> Iterator[str]:
    """Yield the digest of every file of one instance and of its models."""
    for file in INSTANCE_FILES:
        path = folder / file
        try:
            instance.write(path)
        except fairlp.FairlpError as error:
            yield f"{name} | {file}: {type(error).__name__}"
            continue
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield f"{name} | {file}: {digest_of(b''.join(each.read_bytes() for each in files if each.is_file()))}"
    for mechanism in fairlp.mechanisms().index:
        for file in MODEL_FILES:
            path = folder / file
            try:
                model = fairlp.formulate(instance, mechanism)
                if file.endswith((".mps", ".lp")):
                    model.write(path)
                    content = path.read_bytes()
                else:
                    content = (str(model) if file.endswith(".txt") else model.to_latex()).encode()
            except fairlp.FairlpError as error:
                yield f"{name} | {mechanism} | {file}: {type(error).__name__}"
                continue
            yield f"{name} | {mechanism} | {file}: {digest_of(content)}"


def lines_of_studies(digits: int) -> Iterator[str]:
    """Yield the digest of each column of a small study of each generator."""
    for generator in fairlp_research.study.generators().index:
        try:
            experiment = fairlp_research.study.Study(
                name="digest",
                generator=generator,
                grid={"users": [3, 5], "resources": [2]},
                mechanisms=["drf", "asset"],
                runs=4,
            )
            frame = experiment.run(progress=False).frame
        except (fairlp.FairlpError, TypeError) as error:
            yield f"study of {generator}: {type(error).__name__}"
            continue
        for column in frame.select_dtypes("number"):
            if "seconds" not in column:
                yield f"study of {generator} | {column}: {digest_of_numbers(frame[column].to_numpy(float), digits)}"


def main() -> None:
    """Print the digests, in an order that does not change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--digits", type=int, default=17, help="significant digits of tasks that must agree"
    )
    parser.add_argument("--random", type=int, default=40, help="random instances")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    pd.set_option("mode.copy_on_write", True)
    instances = list(itertools.chain(shipped_instances(), random_instances(chosen.random)))
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, instance) in enumerate(instances):
            for line in lines_of_answers(name, instance, chosen.digits):
                print(line, flush=True)
            directory = Path(folder) / str(number)
            directory.mkdir()
            for line in lines_of_files(name, instance, directory):
                print(line, flush=True)
    for line in lines_of_studies(chosen.digits):
        print(line, flush=True)


if __name__ == "__main__":
    main()
