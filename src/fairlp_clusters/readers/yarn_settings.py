"""Settings of YARN: ``/conf`` of the ResourceManager, ``capacity-scheduler.xml``, allocation files.

What a dump does not say is Hadoop's default, as its documentation has it: the pages
CapacityScheduler, FairScheduler and yarn-default.xml of
hadoop.apache.org/docs/stable/hadoop-yarn/hadoop-yarn-site.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from xml.etree import ElementTree

from .cluster import EntryError, mapping_at, name_in_path, shown, text_at

CAPACITY = "capacityScheduler"
FAIR = "fairScheduler"
CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
SCHEDULER_CLASS = "yarn.resourcemanager.scheduler.class"
MONITOR = "yarn.resourcemanager.scheduler.monitor.enable"
INTRA_QUEUE = "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled"
FAIR_PREEMPTION = "yarn.scheduler.fair.preemption"
_CAPACITY_PREFIX = "yarn.scheduler.capacity"
_USER_LIMIT_FACTOR = "user-limit-factor"
_DEFAULT_CALCULATOR = "DefaultResourceCalculator"
_DOMINANT_CALCULATOR = "DominantResourceCalculator"
ROOT = "root"
MEMORY = "memory"
#: The policy of the fair scheduler that counts all resources; ``fair`` and ``fifo`` count memory.
_DOMINANT_POLICY = "drf"
_DEFAULT_POLICY = "fair"


class Setting(NamedTuple):
    """A value, and where it was read, such as ``yarn.scheduler.fair.preemption in conf.xml``."""

    value: str
    place: str

    @property
    def is_true(self) -> bool:
        """Whether the value is ``true``."""
        return self.value.strip().lower() == "true"


class Counted(NamedTuple):
    """Whether memory alone counts, and by which setting; and whether that setting is known."""

    memory_only: bool
    setting: str
    is_known: bool = True


class YarnSettings:
    """The properties and the allocation file of a dump."""

    def __init__(self) -> None:
        self._properties: dict[str, Setting] = {}
        #: Policy and weight of queues of the fair scheduler, by path, of its allocation file.
        self.policies: dict[str, Setting] = {}
        self.weights: dict[str, float] = {}
        self.default_policy: Setting | None = None

    def read_properties(self, entries: list[Any], file: str) -> None:
        """Read properties as ``/conf?format=json`` and ``scheduler-conf`` print them."""
        for entry in entries:
            mapping = mapping_at(entry)
            name = text_at(mapping, "key") or text_at(mapping, "name")
            self._add(name, mapping.get("value"), file)

    def read_xml(self, text: str, file: str) -> None:
        """Read a configuration or an allocation file of XML."""
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise EntryError("it defines a type or entities of its own, which settings do not")
        try:
            root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, ValueError) as error:
            raise EntryError(f"it is no XML: {error}") from None
        if root.tag == "allocations":
            try:
                self._read_allocations(root, "", file)
            except RecursionError:
                raise EntryError("its queues are nested too deeply") from None
            policy = root.findtext("defaultQueueSchedulingPolicy")
            if policy:
                self.default_policy = _policy(policy, f"defaultQueueSchedulingPolicy in {file}")
            return
        for element in root.iter("property"):
            self._add(element.findtext("name") or "", element.findtext("value"), file)

    def _add(self, name: str, value: Any, file: str) -> None:
        """Add a property; the first of a name counts."""
        if name and value is not None:
            self._properties.setdefault(name, Setting(str(value).strip(), f"{name} in {file}"))

    def _read_allocations(self, parent: ElementTree.Element, path: str, file: str) -> None:
        """Read the queues below one of an allocation file (``pool`` is an old word for queue)."""
        for element in parent:
            if element.tag not in ("queue", "pool"):
                continue
            name = element.get("name", "")
            steps = [name_in_path(step) for step in name.split(".") if step]
            if not path and steps[:1] == [ROOT]:
                steps = steps[1:]
            child_path = "/".join(filter(None, [path, *steps]))
            policy = element.findtext("schedulingPolicy")
            if policy:
                place = f"schedulingPolicy of {child_path or ROOT} in {file}"
                self.policies[child_path] = _policy(policy, place)
            weight = element.findtext("weight")
            if weight:
                self.weights[child_path] = _number(weight, "weight")
            self._read_allocations(element, child_path, file)

    def get(self, name: str) -> Setting | None:
        """Return a property; None where no file has it."""
        return self._properties.get(name)

    def is_on(self, name: str) -> tuple[bool, str]:
        """Return whether a property is true, and where that stands; by default it is false."""
        setting = self.get(name)
        if setting is None:
            return False, f"the default: {name} is not in the dump"
        return setting.is_true, setting.place

    def kind(self) -> str:
        """Return the type of the scheduler where no answer of it is there; CAPACITY by default."""
        setting = self.get(SCHEDULER_CLASS)
        is_fair = setting is not None and setting.value.endswith("FairScheduler")
        return FAIR if is_fair else CAPACITY

    def counted(self, kind: str, printed_policies: dict[str, str]) -> Counted:
        """Return which resources count: memory alone, or all.

        Parameters
        ----------
        kind : str
            The type of the scheduler.
        printed_policies : mapping
            The ``schedulingPolicy`` of each queue of the fair scheduler, by path, as it prints it.
        """
        return self._of_policies(printed_policies) if kind == FAIR else self._of_calculator()

    def _of_calculator(self) -> Counted:
        setting = self.get(CALCULATOR)
        if setting is None:
            default = f"{_DEFAULT_CALCULATOR} (the default: {CALCULATOR} is not in the dump)"
            return Counted(True, default)
        name = setting.value.rpartition(".")[2]
        is_known = name in (_DEFAULT_CALCULATOR, _DOMINANT_CALCULATOR)
        return Counted(name == _DEFAULT_CALCULATOR, f"{name} ({setting.place})", is_known)

    def _of_policies(self, printed_policies: dict[str, str]) -> Counted:
        policies = dict(self.policies)
        if self.default_policy is not None:
            policies.setdefault("", self.default_policy)
        for path, text in printed_policies.items():
            policies[path] = _policy(text, f"schedulingPolicy of queue {path or ROOT}")
        for policy in policies.values():
            if policy.value == _DOMINANT_POLICY:
                return Counted(False, f"policy {_DOMINANT_POLICY} ({policy.place})")
        for policy in policies.values():
            return Counted(True, f"policy {policy.value} ({policy.place})")
        return Counted(True, f"policy {_DEFAULT_POLICY} (the default: the dump has none)")

    def user_limit_factor(self, path: str) -> tuple[float, str]:
        """Return the factor of a queue that does not print it; by default 1."""
        names = (
            f"{_CAPACITY_PREFIX}.{ROOT}.{path.replace('/', '.')}.{_USER_LIMIT_FACTOR}",
            f"{_CAPACITY_PREFIX}.{_USER_LIMIT_FACTOR}",
        )
        for name in names:
            setting = self.get(name)
            if setting is not None:
                return _number(setting.value, setting.place), setting.place
        return 1.0, "the default"


def _policy(text: str, place: str) -> Setting:
    """Return a policy by its short name; it may be written as a class."""
    name = text.strip().rpartition(".")[2].lower()
    names = {
        "dominantresourcefairnesspolicy": _DOMINANT_POLICY,
        "fairsharepolicy": _DEFAULT_POLICY,
        "fifopolicy": "fifo",
    }
    return Setting(names.get(name, name), place)


def _number(text: str, name: str) -> float:
    """Return the number of a setting."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text or not text.isascii():
        raise EntryError(f"{name} is {shown(text)}; expected a number")
    return value
