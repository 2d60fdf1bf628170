"""The routes of a model, read once for the calls of many steps."""

from copy import copy
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from llm_app.models import CircuitBreaker, Route


class KnownRoutes:
    """The routes that a task may use, as `usable_for` reads them: 5 ms of CPU, which a step need not spend.

    Who keeps them reads them anew after a change of settings. What moves between two calls, the breakers, is read for
    each. Whether the task has tried a real model cannot change meanwhile: the routes are all real, or all of the demo.
    """

    def __init__(self, model: str, user_id: int | None, task_id: UUID | None) -> None:
        self._routes = list(Route.objects.usable_for(model, user_id, task_id))

    def now(self) -> list[Route]:
        """Each with its provider's breaker."""
        providers = [route.provider_id for route in self._routes]
        rows = CircuitBreaker.objects.filter(provider__in=providers)
        breakers = rows.annotate(is_due=Q(probe_at__lte=Now())).in_bulk()
        for route in self._routes:
            breaker = copy(breakers.get(route.provider_id)) or CircuitBreaker()
            breaker.provider = route.provider
            route.probe_is_due = getattr(breaker, "is_due", False)  # type: ignore[attr-defined]  # as `usable_for` has it
        return self._routes
