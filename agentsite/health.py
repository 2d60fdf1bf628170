"""Endpoints for load balancers and container platforms: liveness and readiness. `doctor` has the details."""

from django.core.checks import CheckMessage
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentsite.checks import infrastructure
from agentsite.checks.messages import Status, status_of
from agentsite.environment import EMBEDDED


@never_cache
@require_safe
async def alive(request: HttpRequest) -> JsonResponse:
    """Return 200 while the process answers. Uses no database, and no thread: other requests may hold all of them."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Return 200 if messages can be accepted and processed, else 503. The body only names the parts."""
    database = infrastructure.database_answers()
    worker = infrastructure.worker_is_unknown() if database.is_serious() else infrastructure.worker_is_alive()
    broker_works = _is_ok(infrastructure.broker_answers())
    if broker_works and not EMBEDDED:  # both are Redis, with separate connections
        broker_works = _is_ok(infrastructure.channel_layer_delivers())
    parts = {"database": _is_ok(database), "broker": broker_works, "worker": _is_ok(worker)}
    is_ready = all(parts.values())
    checks = {name: _status(is_part_ok) for name, is_part_ok in parts.items()}
    return JsonResponse({"status": _status(is_ready), "checks": checks}, status=200 if is_ready else 503)


def _is_ok(message: CheckMessage) -> bool:
    return status_of(message) is Status.OK


def _status(is_ok: bool) -> str:
    return "ok" if is_ok else "not ok"
