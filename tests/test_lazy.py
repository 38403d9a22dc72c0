"""Public names are imported at their first use; an old name works, and says what it is called now."""

import subprocess
import sys
from types import ModuleType

import pytest

import fairlp
from fairlp._lazy import attach
from profiles import by_day

MODULES = [name for name in fairlp.__all__ if isinstance(getattr(fairlp, name), ModuleType)]


@pytest.mark.parametrize("name", by_day(MODULES, 8))
def test_a_public_module_is_imported_by_its_public_name(name):
    public = getattr(getattr(fairlp, name), "__all__", None) or ["FairlpError"]
    lines = (
        "import sys, fairlp",
        f"assert {name == 'errors'} or 'fairlp.{name}' not in sys.modules",
        f"import fairlp.{name} as module",
        f"from fairlp.{name} import {', '.join(public)}",
        f"assert module is fairlp.{name} is sys.modules['fairlp.{name}']",
        f"assert module.__name__ == 'fairlp.{name}'",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_a_deprecated_name_is_an_alias_that_warns():
    get, names, public = attach("fairlp", fairlp.__file__, {"share_out": "allocate"})
    with pytest.warns(
        DeprecationWarning, match=r"fairlp\.share_out is now called fairlp\.allocate"
    ):
        assert get("share_out") is fairlp.allocate
    assert "share_out" not in names() and "share_out" not in public


def test_the_warning_is_of_the_line_that_uses_the_name():
    get, _, _ = attach("fairlp", fairlp.__file__, {"share_out": "allocate"})
    with pytest.warns(DeprecationWarning) as warned:
        get("share_out")
    assert warned[0].filename == __file__


def test_an_unknown_name_has_its_nearest():
    with pytest.raises(AttributeError, match="did you mean 'allocate'"):
        _ = fairlp.alocate
