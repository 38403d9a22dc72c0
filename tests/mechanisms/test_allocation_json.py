"""Allocations read back from their JSON: the same numbers and proofs; what does not fit is refused by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairlp
from fairlp.errors import FairlpError, FileFormatError, InstanceError, NotDefinedError


@pytest.fixture
def instance():
    return fairlp.examples.load("wang-figure-1")


def read(text, instance):
    return fairlp.Allocation.from_json(text, instance)


@pytest.mark.parametrize(
    "name", ["drfh", "tsf", "psdsf-rdm", "ceei", "alpha-fair", "h-drf", "drfh-best-fit"]
)
def test_what_is_read_is_certified_as_the_first(instance, name, tmp_path):
    first = fairlp.allocate(instance, name)
    first.to_json(tmp_path / "found.json")
    second = read(tmp_path / "found.json", instance)
    assert second.to_dict() == first.to_dict()
    assert np.array_equal(second.tasks_array, first.tasks_array) and np.array_equal(
        second.gamma, first.gamma
    )
    try:
        assert (
            second.certify().holds == first.certify().holds
        )  # prices of the rounds are not in the file
    except NotDefinedError:
        assert first.prove is None


def test_options_of_the_mechanism_come_along():
    instance = fairlp.Instance.from_arrays([[1, 4], [3, 1], [2, 0]], [[9, 18]])
    first = fairlp.allocate(instance, "alpha-fair", alpha=2.0)
    second = read(first.to_json(), instance)
    assert second.parameters == {"alpha": 2.0} and second.certify()
    data = json.loads(first.to_json())
    data["parameters"]["alpha"] = 1.0  # the same tasks are not optimal there
    assert not read(json.dumps(data), instance).certify()


def test_labels_are_aligned_whatever_their_order(instance):
    first = fairlp.allocate(instance, "drfh")
    turned = fairlp.Instance.from_arrays(
        instance.demands[::-1],
        instance.capacities[::-1],
        users=list(instance.users)[::-1],
        servers=list(instance.servers)[::-1],
        resources=list(instance.resources),
        counts=instance.counts[::-1],
    )
    second = read(first.to_json(), turned)
    assert second.tasks.loc[first.tasks.index, first.tasks.columns].equals(first.tasks)
    assert second.prices.loc[first.prices.index].equals(first.prices)
    assert second.certify()


def test_whole_numbers_and_words_are_labels_too():
    instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=[7, "ann"])
    first = fairlp.allocate(instance, "drf")
    assert read(first.to_json(), instance).totals.equals(first.totals)


def wrong(change):
    def act(instance):
        data = json.loads(fairlp.allocate(instance, "drfh").to_json())
        change(data)
        return json.dumps(data)

    return act


WRONG = {
    "no JSON": (lambda i: "{", FileFormatError, "no JSON of an Allocation"),
    "another JSON": (lambda i: "{}", FileFormatError, "no JSON of an Allocation"),
    "of arrivals": (
        lambda i: fairlp.allocate(fairlp.examples.ghodsi(), "dynamic-drf").to_json(), FileFormatError, "over arrivals",
    ),
    "words": (wrong(lambda d: d["tasks"][0].update(tasks="many")), FileFormatError, "many"),
    "no tables": (wrong(lambda d: d.pop("parameters")), FileFormatError, "parameters"),
    "no mechanism": (wrong(lambda d: d.update(mechanism="drff")), FairlpError, "drff"),
    "not here": (wrong(lambda d: d.update(mechanism="drf")), NotDefinedError, "not defined here"),
    "user": (wrong(lambda d: d["users"][0].update(user="eve")), InstanceError, "user 'eve' is .* and None by"),
    "server": (wrong(lambda d: d["tasks"][0].update(server="moon")), InstanceError, "server 'moon'"),
    "missing": (wrong(lambda d: d["users"].pop(0)), InstanceError, "number of users is 1 in the file, and 2"),
    "twice": (wrong(lambda d: d["tasks"].append(d["tasks"][0])), InstanceError, "number of tasks of user .* and"),
    "share": (wrong(lambda d: d["users"][0].update(share=0.9)), InstanceError, "share of user .* is 0.9 in"),
    "a function": (
        wrong(lambda d: d["parameters"].update(rule={"shown": "<function>"})), FileFormatError, "option 'rule'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_by_name(instance, case):
    make, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        read(make(instance), instance)


def test_a_file_is_the_text_and_the_end_of_a_line(instance, tmp_path):
    allocation = fairlp.allocate(instance, "drfh")
    text = allocation.to_json(tmp_path / "answer.json")
    assert text == allocation.to_json()
    assert (tmp_path / "answer.json").read_text(encoding="utf-8") == text + "\n"
