"""Identical servers, one by one."""

import numpy as np
import pandas as pd

import fairlp
from fairlp import Instance


def racks():
    return Instance.from_arrays(
        [[1.0, 2.0], [3.0, 1.0]],
        [[8.0, 8.0], [4.0, 16.0]],
        counts=[3, 1],
        servers=["big", "wide"],
        eligible=[[True, True], [True, False]],
        server_attributes=pd.DataFrame({"zone": ["a", "b"]}, index=["big", "wide"]),
    )


def test_a_row_for_every_server():
    grouped, single_servers = racks(), racks().expanded()
    assert list(single_servers.servers) == ["big #1", "big #2", "big #3", "wide"]
    assert (
        single_servers.counts == 1
    ).all() and single_servers.capacities.sum() == grouped.pool.sum()
    assert single_servers.runnable().tolist() == [[True] * 4, [True, True, True, False]]
    assert single_servers.server_attributes["zone"].to_dict() == dict(
        zip(single_servers.servers, "aaab", strict=True)
    )
    for mechanism in ("c-drfh", "psdsf-rdm", "tsf"):
        np.testing.assert_allclose(
            fairlp.allocate(single_servers, mechanism).totals,
            fairlp.allocate(grouped, mechanism).totals,
            rtol=1e-9,
        )


def test_whatever_has_rows_of_one_is_itself():
    instance = fairlp.examples.load("wang-figure-1")
    assert instance.expanded() is instance


def test_given_rates_come_along():
    instance = fairlp.examples.load("khamse-ashari-figure-4").replace(counts=[2, 1, 1])
    assert (
        instance.expanded().rates.shape == (2, 4)
        and (instance.expanded().rates[:, 0] == instance.rates[:, 0]).all()
    )
