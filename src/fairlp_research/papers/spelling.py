"""Names of items in any spelling: ``Fig. 3``, ``eq. (7)``, ``Algorithm 1``."""

from __future__ import annotations

import re

#: What papers number → how people write it.
KINDS = {
    "figure": "figures? figs? pictures?",
    "table": "tables? tabs? tbls?",
    "equation": "equations? eqs? eqns? formulas? formulae programs? problems? lps? inequality "
    "inequalities conditions? constraints? displays? expressions?",
    "algorithm": "algorithms? algs? algos?",
    "theorem": "theorems? thms? theos?",
    "lemma": "lemmas? lemmata lems?",
    "proposition": "propositions? props?",
    "corollary": "corollary corollaries cors? corrs?",
    "definition": "definitions? defs? defns?",
    "remark": "remarks? rems? rmks?",
    "construction": "constructions? constrs?",
    "example": "examples? exs?",
}
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}
#: A number, ``7``, ``(7)``, ``6a``, ``6 (a)`` or ``iv``.
_NUMBER = r"[(\[]?(?:\d+(?:\s?\(?[a-z](?![a-z])\)?)?|[ivxl]+(?![\w-]))[)\]]?"
_WORDS = {
    word.removesuffix("?"): kind
    for kind, words in KINDS.items()
    for word in re.sub(r"(\w+)s\?", r"\1 \1s", words).split()
}
_KIND = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBERED = re.compile(
    rf"\b({_KIND})\b\.?\s*(?:(?:no|nr|number|num)\b\.?|\#)?\s*({_NUMBER})"
    rf"((?:\s?(?:,|and|&|to|–|-)\s?[(\[]?\d+[)\]]?)*)"
)
_SECTION = re.compile(r"^(?:§+|(?:sections?|secs?|sect)\b\.?|s\.?(?=\s?[\divx]))\s*(?=[\divx])")
_ROMAN_SECTION = re.compile(r"^§([ivx]+|\d+)[-.]?\s?([a-z])?(?![\w-])")


def plain(name: str) -> str:
    """Return the name of an item without differences of spelling.

    >>> plain("Fig. 3"), plain("eq. (7)"), plain("(7)"), plain("TABLE IV, TSF")
    ('figure 3', 'equation 7', 'equation 7', 'table 4, tsf')
    >>> plain("Section III.A, example") == plain("§III-A, example")
    True
    """
    text = " ".join(name.casefold().split())
    if re.fullmatch(r"[(\[]\d+[)\]]", text):
        text = f"equation {text}"
    if re.match(r"\d+\.\d|[ivx]+[-.]\s?[a-z]\b", text):
        text = f"§{text}"
    text = _SECTION.sub("§", text)
    text = _ROMAN_SECTION.sub(
        lambda match: f"§{_digits(match[1])}" + (f"-{match[2]}" if match[2] else ""), text
    )
    return _NUMBERED.sub(lambda match: f"{_WORDS[match[1]]} {_digits(match[2])}{match[3]}", text)


def numbers(name: str) -> set[str]:
    """Return all that an item's name numbers, one by one.

    >>> sorted(numbers("Definitions 1–3")), sorted(numbers("§V-B, formula (9)"))
    (['definition 1', 'definition 2', 'definition 3'], ['equation 9'])
    >>> sorted(numbers("Equations (9) and (10)"))
    ['equation 10', 'equation 9']
    """
    numbered = set()
    for match in _NUMBERED.finditer(" ".join(name.casefold().split())):
        kind = _WORDS[match[1]]
        previous = _digits(match[2])
        numbered.add(f"{kind} {previous}")
        for link, digits in re.findall(r"(,|and|&|to|–|-)\s?[(\[]?(\d+)", match[3]):
            first = int(previous) + 1 if link in ("to", "–", "-") else int(digits)
            numbered |= {f"{kind} {number}" for number in range(first, int(digits) + 1)}
            previous = digits
    return numbered


def begins(name: str, item: str) -> bool:
    """Return whether an item is one of several of a name: ``Figure 6a`` of ``Figure 6``.

    Both names are :func:`plain`.
    """
    letter = "[a-z]?" if name[-1:].isdigit() else ""
    return re.match(rf"{re.escape(name)}{letter}(?:[ ,(]|$)", item) is not None


def _digits(number: str) -> str:
    """Return a number, perhaps Roman or in brackets, in digits."""
    digits = re.sub(r"[()\[\]\s]", "", number)
    return digits if digits[0].isdigit() else str(_value(digits))


def _value(roman: str) -> int:
    """Return the value of a Roman number."""
    values = [_ROMAN[letter] for letter in roman]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )
