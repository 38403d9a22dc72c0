"""Settings of YARN: ``/conf`` of the ResourceManager, ``capacity-scheduler.xml``.

What a dump does not say is Hadoop's default, as its documentation has it: the pages
CapacityScheduler and yarn-default.xml of
hadoop.apache.org/docs/stable/hadoop-yarn/hadoop-yarn-site.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from xml.etree import ElementTree

from .cluster import EntryError, mapping_at, shown, text_at

CAPACITY = "capacityScheduler"
CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
SCHEDULER_CLASS = "yarn.resourcemanager.scheduler.class"
#: What says whose containers give way.
PREEMPTION = (
    "yarn.resourcemanager.scheduler.monitor.enable",
    "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled",
)
_USER_LIMIT_FACTOR = "user-limit-factor"
_DEFAULT_CALCULATOR = "DefaultResourceCalculator"
_CALCULATORS = (_DEFAULT_CALCULATOR, "DominantResourceCalculator")
ROOT = "root"
MEMORY = "memory"


class Setting(NamedTuple):
    """A value, and where it was read, such as ``yarn.scheduler.capacity.… in conf.xml``."""

    value: str
    place: str


class Counted(NamedTuple):
    """Whether memory alone counts, and by which setting; and whether that setting is known."""

    memory_only: bool
    setting: str
    is_known: bool = True


class YarnSettings:
    """The properties of a dump."""

    def __init__(self) -> None:
        self._properties: dict[str, Setting] = {}

    def read_properties(self, entries: list[Any], file: str) -> None:
        """Read properties as ``/conf?format=json`` and ``scheduler-conf`` print them."""
        for entry in entries:
            mapping = mapping_at(entry)
            self._add(
                (text_at(mapping, "key") or text_at(mapping, "name")), mapping.get("value"), file
            )

    def read_xml(self, text: str, file: str) -> None:
        """Read properties of XML."""
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise EntryError("it defines a type or entities of its own, which settings do not")
        try:
            root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, ValueError) as error:
            raise EntryError(f"it is no XML: {error}") from None
        for element in root.iter("property"):
            self._add(element.findtext("name") or "", element.findtext("value"), file)

    def _add(self, name: str, value: Any, file: str) -> None:
        """Add a property; the first of a name counts."""
        if name and value is not None:
            self._properties.setdefault(name, Setting(str(value).strip(), f"{name} in {file}"))

    def get(self, name: str) -> Setting | None:
        """Return a property; None where no file has it."""
        return self._properties.get(name)

    def counted(self) -> Counted:
        """Return which resources count: memory alone, or all."""
        setting = self.get(CALCULATOR)
        if setting is None:
            return Counted(
                True, f"{_DEFAULT_CALCULATOR} (the default: {CALCULATOR} is not in the dump)"
            )
        name = setting.value.rpartition(".")[2]
        return Counted(
            name == _DEFAULT_CALCULATOR, f"{name} ({setting.place})", name in _CALCULATORS
        )

    def user_limit_factor(self, path: str) -> tuple[float, str]:
        """Return the factor of a queue that does not print it; by default 1."""
        for parent in (f"{ROOT}.{path.replace('/', '.')}.", ""):
            setting = self.get(f"yarn.scheduler.capacity.{parent}{_USER_LIMIT_FACTOR}")
            if setting is not None:
                return _number(setting), setting.place
        return 1.0, "the default"


def _number(setting: Setting) -> float:
    """Return the number of a setting."""
    try:
        value = float(setting.value)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in setting.value or not setting.value.isascii():
        raise EntryError(f"{setting.place} is {shown(setting.value)}; expected a number")
    return value
