"""The public interface is the one that is written down, so that a change of it is seen in review."""

import difflib
import subprocess
import sys

from paths import ROOT

WRITTEN = ROOT / "tests" / "public_interface.txt"
SCRIPT = "packaging/public_interface.py"


def test_the_public_interface_is_as_written():
    """In a process of its own: other tests register mechanisms and solvers."""
    run = subprocess.run([sys.executable, SCRIPT], cwd=ROOT, capture_output=True, check=True)
    lines = run.stdout.decode("utf-8").splitlines()
    written = WRITTEN.read_text(encoding="utf-8").splitlines()
    changes = "\n".join(difflib.unified_diff(written, lines, "written", "now", lineterm="", n=0))
    assert lines == written, (
        f"{changes}\nIf this change of what users write is meant, say so in CHANGELOG.md, keep old names for two minor "
        f"versions (docs/stability.md), and renew the file: python {SCRIPT} > tests/{WRITTEN.name}"
    )


def test_it_has_names_members_errors_commands_and_exit_codes():
    text = WRITTEN.read_text(encoding="utf-8")
    for line in (
        "function fairlp.allocate(instance: Instance, mechanism: str | Mechanism,",
        "class fairlp.Variable(Masked, VariablePart)",
        "  .shift(index: Index, steps: int = 1, *, cyclic: bool = False, initial: Any = None) -> Expression",
        "class fairlp.errors.UnknownNameError(FairlpError, LookupError, ValueError)",
        "mechanism drfh",
        "solver highs-simplex",
        "command fairlp compare",
        "  --json",
        "exit code 2 USAGE",
    ):
        assert f"\n{line}" in text, line
