"""The public modules of ``fairlp.formulations`` (``__init__.py`` reads it)."""

from . import (
    alpha_fair as alpha_fair,
    normalisers as normalisers,
    options as options,
    region as region,
)

__all__ = [
    "alpha_fair",
    "normalisers",
    "options",
    "region",
]
