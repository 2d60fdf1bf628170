"""What load balancers and container platforms ask: is the process alive, can it serve. Details are for the doctor."""

from collections.abc import Iterator

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentsite.checks import broker, infrastructure, worker
from agentsite.checks.messages import Finding, Status


@never_cache
@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 if messages can be taken and worked on, else 503; says which part is not ok, and no more."""
    checks = {finding.name: _word(finding.status is Status.OK) for finding in _needed()}
    everything = all(word == _word(True) for word in checks.values())
    return JsonResponse({"status": _word(everything), "checks": checks}, status=200 if everything else 503)


def _needed() -> Iterator[Finding]:
    reachable = infrastructure.reachable()
    yield reachable
    yield broker.reachable()
    yield worker.heartbeat() if reachable.ok else worker.unknown()


def _word(ok: bool) -> str:
    return "ok" if ok else "not ok"
