"""Quantities of Kubernetes: every suffix, exactly, and what is none."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlp.operations.clusters.cluster import EntryError
from fairlp.operations.clusters.pods import amount, quantity, unit_of

TABLE = {
    "0": 0,
    "1": 1,
    "+3": 3,
    "12.": 12,
    ".5": Fraction(1, 2),
    "0.1": Fraction(1, 10),
    "5n": Fraction(5, 10**9),
    "5u": Fraction(5, 10**6),
    "500m": Fraction(1, 2),
    "1.5m": Fraction(3, 2000),
    "2k": 2000,
    "1M": 10**6,
    "1G": 10**9,
    "1T": 10**12,
    "1P": 10**15,
    "1E": 10**18,
    "1Ki": 2**10,
    "64Mi": 64 * 2**20,
    "64Gi": 64 * 2**30,
    "1Ti": 2**40,
    "1Pi": 2**50,
    "1Ei": 2**60,
    "1.5Gi": 3 * 2**29,
    "1e3": 1000,
    "1E3": 1000,
    "12e-1": Fraction(6, 5),
    "1e+2": 100,
    "128974848": 128974848,
}


@pytest.mark.parametrize("text", TABLE)
def test_every_form_of_a_quantity(text):
    assert quantity(text) == TABLE[text]


def test_numbers_of_json_are_quantities():
    assert quantity(4) == 4 and quantity(0.1) == Fraction(1, 10)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "x",
        "1 Gi",
        "1gi",
        "1KI",
        "1K",
        "--1",
        "1e",
        "1e3Gi",
        "Gi",
        "1,5",
        "0x10",
        "١",
        "1e999999999",
        "9" * 50,
        "inf",
    ],
)
def test_what_is_no_quantity_is_named(wrong):
    with pytest.raises(EntryError, match="is no quantity; expected"):
        quantity(wrong)


@pytest.mark.parametrize("wrong", [None, True, [], {"cpu": 1}])
def test_what_is_no_text_is_named(wrong):
    with pytest.raises(EntryError, match="is no quantity; expected text"):
        quantity(wrong)


def test_a_negative_one_is_refused():
    with pytest.raises(EntryError, match="'-1Gi' is negative"):
        quantity("-1Gi")


@pytest.mark.parametrize(
    ("resource", "text", "expected", "unit"),
    [
        ("cpu", "2", 2000, "1/1000 core"),
        ("cpu", "0.1", 100, "1/1000 core"),
        ("cpu", "1.5m", 2, "1/1000 core"),  # rounded up, as Kubernetes does
        ("cpu", "1n", 1, "1/1000 core"),
        ("memory", "64Gi", 65536, "MiB"),
        ("memory", "1", 2**-20, "MiB"),
        ("memory", "1M", 10**6 / 2**20, "MiB"),
        ("memory", "100m", 2**-20, "MiB"),  # a tenth of a byte
        ("ephemeral-storage", "1Gi", 1024, "MiB"),
        ("hugepages-2Mi", "4Mi", 4, "MiB"),
        ("nvidia.com/gpu", "8", 8, ""),
        ("pods", "110", 110, ""),
    ],
)
def test_amounts_in_the_unit_of_their_resource(resource, text, expected, unit):
    assert amount(resource, quantity(text)) == expected and unit_of(resource) == unit


@given(st.integers(0, 2**53 - 1))
def test_bytes_are_kept_to_the_unit(count):
    assert amount("memory", quantity(str(count))) * 2**20 == count


@given(st.integers(0, 10**9), st.sampled_from(["m", "", "k", "M", "Ki", "Mi"]))
def test_a_quantity_is_its_number_times_its_suffix(number, suffix):
    factor = {"m": Fraction(1, 1000), "": 1, "k": 1000, "M": 10**6, "Ki": 1024, "Mi": 1024**2}[
        suffix
    ]
    assert quantity(f"{number}{suffix}") == number * factor
