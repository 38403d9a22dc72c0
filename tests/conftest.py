"""How many examples Hypothesis tries: few by default, ten times as many with FAIRLP_HYPOTHESIS_PROFILE=nightly."""

from __future__ import annotations

from hypothesis import settings

from profiles import PROFILE, many

settings.register_profile("quick", max_examples=50)
settings.register_profile("nightly", max_examples=many(50))
settings.load_profile(PROFILE)
