"""Servers of real clusters: Google's table, and Alibaba's traces where their files are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairlp import examples
from fairlp.errors import FileFormatError, quoted
from fairlp.toolkit import home

from .registry import Benchmark, generator

_ALIBABA = ("openb_node_list_all_node.csv", "openb_pod_list_gpuspec33.csv")


@generator(
    "google-cluster",
    "inventories",
    "drfh",
    "ten kinds of servers, from 1 to 6,732 of each: capacities of very different sizes",
    users=(60, 500, 5000),
)
def google_cluster(rng: np.random.Generator, *, users: int) -> Benchmark:
    """Google's 12,583 servers of 2011 in ten rows; random users."""
    return Benchmark(examples.google_cluster(users, int(rng.integers(2**32))))


@generator(
    "alibaba-gpu",
    "inventories",
    "c-drfh",
    "a real mix: classes of tasks that need no GPU, a part of one or several, conditions on "
    "models, all limited",
    files=_ALIBABA,
    users=(60, 200, 457),
)
def alibaba_gpu(rng: np.random.Generator, *, users: int, data: str) -> Benchmark:
    """Alibaba's GPU cluster of 2023, equal servers in one row, with a random choice of users.

    A user is a class of tasks.
    """
    from .. import read_alibaba_gpu

    folder = _folder("alibaba-gpu", data, _ALIBABA)
    whole = read_alibaba_gpu(*(folder / name for name in _ALIBABA)).merged_servers()
    chosen = np.sort(rng.permutation(len(whole.users))[:users])
    return Benchmark(whole.select_users(chosen))


def _folder(entry: str, data: str, needed: Sequence[str]) -> Path:
    """Return the folder of the data; the error names what is missing there."""
    if not data:
        raise FileFormatError(
            f"{quoted(entry)} is made from files that fairlp does not ship: {', '.join(needed)}; give "
            "the folder that has "
            f"them (data=…, or --data {entry}=FOLDER on the command line)"
        )
    folder = home(data)
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        where = (
            f"folder {str(folder)!r} has no {', '.join(missing)}"
            if folder.is_dir()
            else f"no folder {str(folder)!r}"
        )
        raise FileFormatError(
            f"{quoted(entry)}: {where}; expected the folder with {', '.join(needed)}"
        )
    return folder
