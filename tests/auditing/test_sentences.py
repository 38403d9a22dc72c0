"""Promises in words: what is said of a promise that does not hold is one thing, and as the table has it."""

import pandas as pd
import pytest

import fairlp
from fairlp.auditing.sentences import broken_promises, in_words


def table(*rows):
    columns = [
        "mechanism",
        "property",
        "promised",
        "source",
        "condition",
        "standing",
        "audited",
        "broken",
    ]
    frame = pd.DataFrame(
        [(*row, 0, "") for row in rows], columns=[*columns, "failed", "counterexample"]
    )
    return frame.set_index(["mechanism", "property"])


KEPT = ("drf", "envy-free", True, "somebody", "", "stands", 9, 0)
NOBODY = ("drf", "bottleneck", False, "", "", "not promised", 0, 0)
REFUTED = ("tsf", "sharing incentive", True, "somebody, Table I", "", "refuted", 9, 2)
UNDER = ("asset", "Pareto-optimal", True, "us", "all weights are equal", "broken by audits", 9, 4)


@pytest.mark.parametrize(
    ("row", "sentences", "standing"),
    [
        (KEPT, [], "stands"),
        (NOBODY, [], "not promised"),
        (
            REFUTED,
            [
                "tsf breaks 'sharing incentive', promised by somebody, Table I: on an instance "
                "that ships and "
                "on 2 of 9 instances audited now"
            ],
            "refuted",
        ),
        (
            UNDER,
            [
                "asset breaks 'Pareto-optimal', promised by us if all weights are equal: on 4 of 9 "
                "instances audited now"
            ],
            "broken by audits",
        ),
    ],
    ids=["kept", "nobody's", "refuted", "under a condition"],
)
def test_one_sentence_for_a_promise_that_is_broken_and_none_for_another(row, sentences, standing):
    promises = table(row)
    assert broken_promises(promises) == sentences
    assert in_words(promises)["standing"].tolist() == [standing]


@pytest.mark.slow
def test_every_refuted_promise_of_ours_has_its_sentence_and_nothing_else():
    promises = fairlp.promises()
    refuted = promises[promises["standing"] == "refuted"]
    sentences = broken_promises(promises)
    assert len(sentences) == len(refuted) >= 1
    for (mechanism, property_name), sentence in zip(refuted.index, sentences, strict=True):
        assert sentence.startswith(f"{mechanism} breaks {property_name!r}, promised by ")
        case = fairlp.counterexample(mechanism, property_name)
        assert fairlp.audit(
            case, fairlp.allocate(case, mechanism), property_name
        ).holds.tolist() == [False]


def test_the_table_for_people_has_no_columns_that_say_nothing():
    assert "broken" not in in_words(fairlp.promises(mechanisms=["tsf"]))
    assert "broken" in in_words(table(KEPT, REFUTED)) and "failed" not in in_words(
        table(KEPT, REFUTED)
    )
    assert in_words(table(KEPT, REFUTED).assign(failed=[0, 3]))["failed"].tolist() == [0, 3]
    always = in_words(table(NOBODY).assign(failed=7))
    assert always["failed"].tolist() == [7] and always["audited"].tolist() == [0]
    table_in_words = in_words(fairlp.promises(mechanisms=["drf"]))
    assert table_in_words.loc[("drf", "population-monotonic"), "counterexample"] == "ships"
    assert table_in_words.loc[("drf", "envy-free"), "counterexample"] == ""
