"""The list of planted faults: each still has its place in the source, and each family has ten at least."""

from __future__ import annotations

import ast
from collections import Counter

from paths import ROOT
from scripts import benchmark


def test_each_planted_fault_has_its_place_and_leaves_a_program():
    with benchmark("faults") as script:
        _, faults = script.planted_faults()
        for fault in faults:
            text = (script.SOURCE / fault.file).read_text(encoding="utf-8")
            assert text.count(fault.old) == 1, f"{fault}: {fault.old!r}"
            changed = fault.changed(text)
            assert changed != text, str(fault)
            ast.parse(changed)


def test_each_family_has_ten_faults_or_more_in_words_and_tests_that_exist():
    with benchmark("faults") as script:
        tests, faults = script.planted_faults()
        counts = Counter(fault.family for fault in faults)
        assert set(counts) == set(tests)
        assert min(counts.values()) >= script.FAULTS_OF_A_FAMILY
        assert len({(fault.file, fault.old, fault.new) for fault in faults}) == len(faults)
        assert all(fault.seen and fault.kind for fault in faults)
        assert all((ROOT / test).exists() for files in tests.values() for test in files)
