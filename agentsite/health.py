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
    reachable = infrastructure.database_answers()
    worker = infrastructure.worker_is_unknown() if reachable.is_serious() else infrastructure.worker_is_alive()
    needed = {"database": _is_ok(reachable), "broker": _redis_serves(), "worker": _is_ok(worker)}
    everything = all(needed.values())
    checks = {name: _word(ok) for name, ok in needed.items()}
    return JsonResponse({"status": _word(everything), "checks": checks}, status=200 if everything else 503)


def _redis_serves() -> bool:
    """Return whether Redis answers as broker and as channel layer, which use separate connections."""
    return _is_ok(infrastructure.broker_answers()) and (EMBEDDED or _is_ok(infrastructure.channel_layer_delivers()))


def _is_ok(message: CheckMessage) -> bool:
    return status_of(message) is Status.OK


def _word(ok: bool) -> str:
    return "ok" if ok else "not ok"
