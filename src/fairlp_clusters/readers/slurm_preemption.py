"""Whom Slurm lets give way to whom, in a line: ``scontrol show config``.

The rules are those of slurm.schedmd.com/preempt.html and of ``slurm.conf``.
"""

from __future__ import annotations

_CONFIG = "scontrol show config"
_NO_PREEMPTION = frozenset({"preempt/none", "(null)", "none", ""})
_NEVER = "a running job never gives way"
_RULES = {
    "preempt/partition_prio": (
        "a running job gives way to jobs of a partition with a higher PriorityTier"
    ),
    "preempt/qos": "a running job gives way to jobs whose QOS lists its QOS in Preempt",
}


def preemption_of(text: str) -> str:
    """Return what the settings that ``scontrol show config`` prints say of pre-emption.

    >>> preemption_of("PreemptType = preempt/none")
    'PreemptType is preempt/none (scontrol show config): a running job never gives way'
    """
    pairs = (line.partition("=") for line in text.splitlines())
    settings = {name.rstrip(): value.strip() for name, equals, value in pairs if equals}
    if "PreemptType" not in settings:
        return ""
    kind = settings["PreemptType"]
    mode = settings.get("PreemptMode", "")
    if kind in _NO_PREEMPTION:
        return f"PreemptType is preempt/none ({_CONFIG}): {_NEVER}"
    if mode.upper() == "OFF":
        return f"PreemptMode is OFF ({_CONFIG}): {_NEVER}"
    named = [f"PreemptType={kind}", f"PreemptMode={mode}"]
    exempt_time = settings.get("PreemptExemptTime", "")
    if exempt_time.strip("0:-"):
        named.append(f"PreemptExemptTime={exempt_time}")
    if kind not in _RULES:
        return f"as {', '.join(named)} says ({_CONFIG})"
    return f"{_RULES[kind]} ({', '.join(named)}; {_CONFIG})"
