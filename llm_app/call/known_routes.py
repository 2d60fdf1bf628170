"""The routes of a model, read once for the calls of many steps."""

from copy import copy
from uuid import UUID

from django.utils import timezone

from llm_app.call.route_settings import RouteSettings
from llm_app.models import CircuitBreaker, Route
from llm_app.sql.composed_query import Select

_usable = Select(Route.objects.usable_for)
_breakers = Select(lambda *providers: CircuitBreaker.objects.filter(provider__pk__in=providers))
_usable_default = Select(lambda user, task: Route.objects.usable_for("", user, task))


class KnownRoutes:
    """The routes that a task may use, as `usable_for` reads them: 5 ms of CPU, which a step need not spend.

    Who keeps them reads them anew after a change of settings, and calls `refresh` before each step. Whether the task
    has tried a real model cannot change meanwhile: the routes are all real, or all of the demo.
    """

    def __init__(self, model: str, user_id: int | None, task_id: UUID | None) -> None:
        if user_id is None or task_id is None:
            self._routes = list(Route.objects.usable_for(model, user_id, task_id))
        elif model:
            self._routes = _usable.rows(model, user_id, task_id)
        else:
            self._routes = _usable_default.rows(user_id, task_id)
        self._changes = -1
        self._settings: dict[int, tuple[Route, RouteSettings]] = {}

    def refresh(self, changes: int) -> None:
        """Reads the breakers again, if any has changed: `changes` counts those of all, as of now."""
        if changes == self._changes:
            return
        found = _breakers.of_keys([route.provider_id for route in self._routes])
        breakers = {breaker.pk: breaker for breaker in found}
        for route in self._routes:
            breaker = copy(breakers.get(route.provider_id)) or CircuitBreaker()
            breaker.provider = route.provider
        self._changes = changes

    def settings_of(self, route: Route) -> RouteSettings:
        """Made once for each row; one that was read anew has its own. Raises ProtocolUnavailable."""
        row, settings = self._settings.get(route.pk, (None, None))
        if row is not route or settings is None:
            settings = RouteSettings.of(route)
            self._settings[route.pk] = route, settings
        return settings

    def has_learned(self, route: Route) -> None:
        """A refusal has taught something of the route's model: the next call begins with it."""
        route.has_learned = True  # type: ignore[attr-defined]  # annotated by usable_for
        self._settings.pop(route.pk, None)

    def now(self) -> list[Route]:
        """`probe_is_due` goes by this host's clock. The update that takes a probe asks the database's."""
        for route in self._routes:
            route.probe_is_due = _is_due(route.provider.circuit_breaker)  # type: ignore[attr-defined]
        return self._routes


def _is_due(breaker: CircuitBreaker) -> bool:
    """As the query `probe_is_due` says it."""
    if breaker.probe_at is None:
        return False
    now, changed_at = timezone.now(), breaker.changed_at
    return breaker.probe_at <= now or (changed_at is not None and changed_at > now)
