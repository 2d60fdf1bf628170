"""`/metrics` in the text format of Prometheus: counters of all workers, and gauges from the database."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count
from django.http import HttpResponse
from prometheus_client import CollectorRegistry, Gauge, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from llm_app.models import BreakerState, CircuitBreaker, Provider
from tasks_app.api.formats import IgnoreAccept
from tasks_app.models import EngineProcess, Sample, Task, TaskState
from tasks_app.runtime import metrics

_WEB = CollectorRegistry()
WEBSOCKETS = Gauge("agentsite_websockets", "Open pages of the web process that answers.", registry=_WEB)


class CanViewMetrics(BasePermission):
    """Administrators, and accounts with the permission to view engine processes."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.user.is_active and request.user.has_perm("tasks_app.view_engineprocess")


class Metrics(APIView):
    """Metrics of the entire installation, except `agentsite_websockets`. Workers report every 5 s.

    Every client gets the text format, which all of them read, whatever it asks for.
    """

    permission_classes = [CanViewMetrics]
    content_negotiation_class = IgnoreAccept
    schema = None

    def get(self, request: Request) -> HttpResponse:
        registry = CollectorRegistry()
        registry.register(_InstallationCollector())
        return HttpResponse(generate_latest(registry) + generate_latest(_WEB), content_type=CONTENT_TYPE_LATEST)


class _InstallationCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        yield _task_gauge()
        yield _breaker_gauge()
        counters = EngineProcess.objects.values_list("counted", flat=True)
        yield from metrics.sum_samples(Sample(*sample) for samples in counters for sample in samples)


def _task_gauge() -> Metric:
    by_state = dict(Task.objects.without_copies().order_by().values_list("state").annotate(Count("pk")))
    family = Metric("agentsite_tasks", "Tasks by their state.", "gauge")
    for state in TaskState:
        family.add_sample("agentsite_tasks", {"state": state}, by_state.get(state, 0))
    return family


def _breaker_gauge() -> Metric:
    states: dict[str, Any] = dict(CircuitBreaker.objects.values_list("provider__name", "state"))
    family = Metric("agentsite_breaker_state", "0 closed, 1 half-open, 2 open.", "gauge")
    value = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}
    for name in Provider.objects.values_list("name", flat=True):
        family.add_sample("agentsite_breaker_state", {"provider": name}, value[states.get(name, BreakerState.CLOSED)])
    return family
