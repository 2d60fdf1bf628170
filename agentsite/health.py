"""What load balancers and container platforms ask: is the process alive, can it serve. `doctor` has the details."""

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
    """200 as long as the process answers; touches nothing else, and needs none of the threads that others may hold."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 if messages can be accepted and worked on, else 503. Says which part is not ok, and nothing more."""
    reachable = infrastructure.database_answers()
    worker = infrastructure.worker_is_unknown() if reachable.is_serious() else infrastructure.worker_is_alive()
    needed = {"database": _is_ok(reachable), "broker": _redis_serves(), "worker": _is_ok(worker)}
    everything = all(needed.values())
    checks = {name: _word(ok) for name, ok in needed.items()}
    return JsonResponse({"status": _word(everything), "checks": checks}, status=200 if everything else 503)


def _redis_serves() -> bool:
    """Return whether Redis answers as broker and as channel layer, which have connections each, as `doctor` checks."""
    return _is_ok(infrastructure.broker_answers()) and (EMBEDDED or _is_ok(infrastructure.channel_layer_delivers()))


def _is_ok(message: CheckMessage) -> bool:
    return status_of(message) is Status.OK


def _word(ok: bool) -> str:
    return "ok" if ok else "not ok"
