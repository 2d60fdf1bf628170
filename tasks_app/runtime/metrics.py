"""Metrics that this engine process has counted since its start, besides those of provider calls.

A web process does not see the workers' counters, so these store their samples with each heartbeat.
"""

from collections import defaultdict
from collections.abc import Iterable

from django.utils import timezone
from prometheus_client import Counter, Histogram, Metric

from llm_app.metrics import ENGINE
from tasks_app.models import EngineProcess, Sample, Task, TaskState
from tasks_app.runtime import process

ITERATIONS = Counter("agentsite_iterations", "Iterations of tasks.", registry=ENGINE)
_TAKEOVERS = Counter("agentsite_lease_takeovers", "Tasks that were taken over from a dead worker.", registry=ENGINE)
_QUEUE_DELAY = Histogram(
    "agentsite_queue_delay_seconds",
    "How long new tasks waited for a worker.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
    registry=ENGINE,
)


def count_claim(task: Task) -> None:
    """Count a takeover or the queue delay of a task. `task` is its row as read before the claim."""
    if task.lease_owner:
        _TAKEOVERS.inc()
    elif task.state == TaskState.INITIALIZING:
        _QUEUE_DELAY.observe(max(0.0, (timezone.now() - task.created_at).total_seconds()))


def store_heartbeat() -> None:
    """Store this process's heartbeat with its samples."""
    samples = [
        Sample(sample.name, sample.labels, sample.value) for metric in ENGINE.collect() for sample in metric.samples
    ]
    EngineProcess.objects.beat(process.name(), samples)


def sum_samples(samples: Iterable[Sample]) -> list[Metric]:
    """Return the metrics with the samples of several processes added up."""
    values: dict[str, dict[tuple[tuple[str, str], ...], float]] = defaultdict(lambda: defaultdict(float))
    for name, labels, value in samples:
        values[name][tuple(labels.items())] += value
    sums = []
    for metric in ENGINE.collect():
        family = Metric(metric.name, metric.documentation, metric.type)
        for suffix in {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}[metric.type]:
            for pairs, total in values[metric.name + suffix].items():
                family.add_sample(metric.name + suffix, dict(pairs), total)
        sums.append(family)
    return sums
