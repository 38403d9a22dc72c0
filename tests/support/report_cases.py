"""Small clusters for reports, one where everything there is to say occurs and one with hostile names; their pages."""

from __future__ import annotations

import pandas as pd

import fairlp
from fairlp import Instance
from kubernetes_dumps import flavors, kueue, node, pod, written

HOSTILE = [
    "<script>window.broken=1</script>",
    '"><img src=x onerror="window.broken=2">',
    "'];window.broken=3;//",
    "</script><script>window.broken=4</script>",
    "${window.broken=5}{{7*7}}",
    'a"]+alert(1)+datum["b',
]


def queued():
    """Queues with guarantees and a cap; some wait, some hold more than is fair, some could have what is free."""
    instance = fairlp.Instance.from_arrays(
        [[1.0, 4.0, 0.0], [2.0, 2.0, 1.0], [1.0, 8.0, 0.0], [4.0, 4.0, 0.0], [1.0, 1.0, 0.0]],
        [[16.0, 64.0, 0.0], [16.0, 64.0, 4.0]],
        users=["ann", "bob", "cid", "dee", "eva"],
        servers=["plain", "gpus"],
        resources=["cpu", "memory", "gpu"],
        counts=[3, 2],
        queue=["org/red", "org/red", "org/blue", "lab", "lab"],
        queues={
            "org": {"weight": 2, "guarantee": {"cpu": 16.0}},
            "org/blue": {"cap": {"memory": 160.0}},
            "lab": {"weight": 1, "guarantee": {"cpu": 8.0}},
        },
        task_limits=[40, 10, 60, 20, 2],
        units={"memory": "GiB"},
        server_attributes=pd.DataFrame({"kind": ["plain", "with GPUs"]}),
        name="example",
    )
    return instance, [[10, 8], [0, 4], [12, 8], [2, 1], [1, 1]]


def hostile():
    """Everything that has a name has a hostile one."""
    count = len(HOSTILE)
    queue = [name.replace("/", "%2F") for name in HOSTILE]
    instance = fairlp.Instance.from_arrays(
        [[1.0 + k, 2.0] for k in range(count)],
        [[20.0, 40.0], [30.0, 30.0]],
        users=HOSTILE,
        servers=[f"{HOSTILE[0]} 1", f"{HOSTILE[3]} 2"],
        resources=[HOSTILE[1], HOSTILE[5]],
        queue=[f"{queue[0]}/{name}" for name in queue],
        units={HOSTILE[1]: HOSTILE[2]},
        server_attributes=pd.DataFrame({"kind": HOSTILE[2:4]}),
        name=HOSTILE[3],
    )
    return instance, [[2, 0]] + [[0, 1]] * (count - 1)


def two():
    return Instance.from_arrays(
        [[1.0], [2.0]], [[12.0]], users=["x", "a (new)"], queue=["a", "b"], resources=["cpu"]
    )


def cluster(folder):
    """Two nodes, and two queues of Kueue; one pod may run nowhere."""
    label = "kueue.x-k8s.io/queue-name"
    requests = {"cpu": "1", "memory": "1Gi"}
    queues = [
        kueue("ClusterQueue", "red", {"cohort": "org", "resourceGroups": flavors(("cpu", 8, {}))}),
        kueue("ClusterQueue", "blue", {"cohort": "org", "resourceGroups": flavors(("cpu", 8, {}))}),
        *[
            kueue("LocalQueue", f"to-{name}", {"clusterQueue": name}, namespace="ml")
            for name in ("red", "blue")
        ],
    ]
    pods = [
        pod(
            f"r{k}",
            on=f"n{k % 2}",
            owner=("Job", "train"),
            requests=requests,
            labels={label: "to-red"},
        )
        for k in range(14)
    ]
    pods += [
        pod("b0", on="n0", owner=("Job", "serve"), requests=requests, labels={label: "to-blue"})
    ]
    pods += [
        pod(f"w{k}", owner=("Job", "serve"), requests=requests, labels={label: "to-blue"})
        for k in range(5)
    ]
    pods += [
        pod(
            "lost",
            owner=("Job", "lost"),
            requests=requests,
            labels={label: "to-blue"},
            nodeSelector={"disk": "none"},
        )
    ]
    nodes = [node(f"n{k}", {"kubernetes.io/hostname": f"n{k}", "os": "linux"}) for k in range(2)]
    return written(folder, *nodes, *queues, *pods)


def shared():
    """Two organisations share 12 cpu and 24 memory; a has three quarters of the cpu, and b waits.

    Hierarchical DRF: a1 and a2 rise half as fast as b1 until a2 has its 2 tasks and counts
    no more; then a1 and b1 end equal.
    """
    return fairlp.Instance.from_arrays(
        [[1.0, 2.0], [1.0, 1.0], [1.0, 2.0]],
        [[6.0, 12.0], [6.0, 12.0]],
        users=["a1", "a2", "b1"],
        servers=["s1", "s2"],
        resources=["cpu", "memory"],
        queue=["a/one", "a/two", "b"],
        queues={"a": {"guarantee": {"cpu": 3.0}}, "b": {"guarantee": {"cpu": 3.0}}},
        task_limits=[9, 2, 9],
    )
