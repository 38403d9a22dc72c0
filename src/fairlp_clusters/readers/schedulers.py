"""Who schedules: what a dump shows of schedulers, queues and clusters that are not read.

Such a dump has shares and holders and no verdict: what tenants are promised is not in it.
"""

from __future__ import annotations

from collections import Counter

from .cluster import Record, list_at, mapping_at, text_at
from .kueue import Kueue
from .pods import Pod
from .volcano import Volcano

#: The schedulers whose rules are read; pods that name none are the first one's.
READ = ("default-scheduler", "volcano")
#: The beginning of labels and annotations by which YuniKorn knows pods, also as the default scheduler.
_PLUGIN = "yunikorn.apache.org"
#: The annotations by which pods ask for a part of a GPU (KAI, run:ai).
_PARTS_OF_GPU = ("gpu-fraction", "gpu-memory")
#: Objects of other schedulers that share among queues, by the end of their kind.
_QUOTA_KINDS = ("ElasticQuota", "ElasticQuotaTree", "QuotaSubtree")
#: The controller of a check of Kueue that sends Workloads to other clusters.
_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_MULTIKUEUE_KINDS = ("MultiKueueConfig", "MultiKueueCluster")
_ADD_VOLCANO = "queues.scheduling.volcano.sh,podgroups.scheduling.volcano.sh -A"
_ADD_KUEUE = "clusterqueues,cohorts,localqueues,resourceflavors,workloads -A"


class Schedulers:
    """The evidence of a dump, counted."""

    def __init__(self) -> None:
        self._pods_of: Counter[str] = Counter()
        self._objects: Counter[str] = Counter()
        self._parts_of_gpus = 0
        self._is_sent_away = False

    def see_pod(self, pod: Pod) -> None:
        """Count a pod that another scheduler places, or that asks for a part of a GPU."""
        is_of_plugin = any(key.startswith(_PLUGIN) for key in pod.marks)
        if is_of_plugin or (pod.scheduler and pod.scheduler not in READ):
            self._pods_of[pod.scheduler or _PLUGIN] += 1
        self._parts_of_gpus += not pod.marks.keys().isdisjoint(_PARTS_OF_GPU)

    def see_object(self, kind: str, version: str) -> None:
        """Count an object that no reader knows, where it shares among queues."""
        self._is_sent_away |= kind in _MULTIKUEUE_KINDS
        if kind.endswith(_QUOTA_KINDS) or kind == "Queue":
            self._objects[f"{kind} ({version})"] += 1

    def see_check(self, manifest: Record, file: str) -> None:
        """Read an AdmissionCheck of Kueue."""
        self._is_sent_away |= text_at(manifest, "spec", "controllerName") == _MULTIKUEUE

    def see_workload(self, manifest: Record) -> None:
        """See whether a Workload of Kueue runs on another cluster."""
        status = mapping_at(manifest, "status")
        self._is_sent_away |= any(
            [text_at(status, "clusterName"), *list_at(status, "nominatedClusterNames")]
        )

    def reasons(self, pods: list[Pod], kueue: Kueue, volcano: Volcano) -> list[str]:
        """Return why there is no verdict, a sentence each; empty where there may be one."""
        sentences = [
            f"{_are(count, 'pod')} scheduled by {name!r}, a scheduler that fairlp does not read"
            for name, count in self._pods_of.items()
        ]
        sentences += [
            f"the dump has {count} objects of kind {kind}, which fairlp does not read, and which say "
            "what queues or namespaces are promised"
            for kind, count in self._objects.items()
        ]
        if self._parts_of_gpus:
            sentences.append(
                f"{_are(self._parts_of_gpus, 'pod')} given a part of a GPU ({_PARTS_OF_GPU[0]}), which does not "
                "count here"
            )
        if self._is_sent_away:
            sentences.append("Kueue sends Workloads to other clusters (MultiKueue)")
        orphans = [
            (sum(map(kueue.lacks_queue, pods)), "pod", "Kueue", _ADD_KUEUE),
            (sum(map(volcano.lacks_queue, pods)), "pod", "Volcano", _ADD_VOLCANO),
            (kueue.orphan_count, "Workload", "Kueue", _ADD_KUEUE),
        ]
        sentences += [
            f"{_are(count, noun)} in queues of {scheduler} that are not in the dump: add what kubectl get "
            f"{command} -o json prints"
            for count, noun, scheduler, command in orphans
            if count
        ]
        return sentences


def _are(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
