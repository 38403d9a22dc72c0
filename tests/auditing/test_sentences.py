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
    ("row", "said", "standing"),
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
def test_one_sentence_for_a_promise_that_is_broken_and_none_for_another(row, said, standing):
    found = table(row)
    assert broken_promises(found) == said
    assert in_words(found)["standing"].tolist() == [standing]


def test_every_refuted_promise_of_ours_has_its_sentence_and_nothing_else():
    found = fairlp.promises()
    refuted = found[found["standing"] == "refuted"]
    said = broken_promises(found)
    assert len(said) == len(refuted) >= 1
    for (mechanism, wanted), sentence in zip(refuted.index, said, strict=True):
        assert sentence.startswith(f"{mechanism} breaks {wanted!r}, promised by ")
        case = fairlp.counterexample(mechanism, wanted)
        assert fairlp.audit(case, fairlp.allocate(case, mechanism), wanted).holds.tolist() == [
            False
        ]


def test_the_table_for_people_has_no_columns_that_say_nothing():
    assert "broken" not in in_words(fairlp.promises(mechanisms=["tsf"]))
    assert "broken" in in_words(table(KEPT, REFUTED)) and "failed" not in in_words(
        table(KEPT, REFUTED)
    )
    assert in_words(table(KEPT, REFUTED).assign(failed=[0, 3]))["failed"].tolist() == [0, 3]
    always = in_words(table(NOBODY).assign(failed=7))
    assert always["failed"].tolist() == [7] and always["audited"].tolist() == [0]
    shown = in_words(fairlp.promises(mechanisms=["drf"]))
    assert shown.loc[("drf", "population-monotonic"), "counterexample"] == "ships"
    assert shown.loc[("drf", "envy-free"), "counterexample"] == ""
