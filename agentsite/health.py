"""What load balancers and container platforms ask: is the process alive, can it serve. `doctor` has the details."""

from collections.abc import Iterator

from django.core.checks import CheckMessage
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentsite.checks import infrastructure
from agentsite.checks.messages import Status, status_of


@never_cache
@require_safe
async def alive(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else, and needs none of the threads that others may hold."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 if messages can be accepted and worked on, else 503. Says which part is not ok, and nothing more."""
    checks = {str(message.obj): _word(status_of(message) is Status.OK) for message in _needed()}
    everything = all(word == _word(True) for word in checks.values())
    return JsonResponse({"status": _word(everything), "checks": checks}, status=200 if everything else 503)


def _needed() -> Iterator[CheckMessage]:
    reachable = infrastructure.database_answers()
    yield reachable
    yield infrastructure.broker_answers()
    yield infrastructure.worker_is_unknown() if reachable.is_serious() else infrastructure.worker_is_alive()


def _word(ok: bool) -> str:
    return "ok" if ok else "not ok"
