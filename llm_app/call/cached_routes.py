"""Routes of a model that are read once for many calls."""

from collections.abc import Collection
from copy import copy
from functools import cached_property
from uuid import UUID

from django.utils import timezone

from llm_app.breaker.guard import AttemptGuard
from llm_app.call.route_settings import RouteSettings
from llm_app.errors import ProtocolUnavailable
from llm_app.models import CircuitBreaker, Route
from llm_app.sql import cached_sql, fetch_all
from llm_app.types import ToolMode


@cached_sql
def _breakers_of(providers: Collection[int]) -> list[CircuitBreaker]:
    return fetch_all(CircuitBreaker.objects.filter(provider__pk__in=providers))


class CachedRoutes:
    """The routes that a task can use, as read by `usable_for`.

    Reading them costs 5 ms of CPU, which is saved in each step.

    Create a new object after a change of settings, and call `refresh` before each step. Whether the task has used a
    real model cannot change in between: the routes are either all real or all of the demo.
    """

    def __init__(self, model: str, user_id: int | None, task_id: UUID | None) -> None:
        self._routes = Route.objects.list_usable(model or None, user_id, task_id)
        self._changes = -1
        self._settings: dict[int, tuple[Route, RouteSettings]] = {}

    def refresh(self, changes: int) -> None:
        """Read the breakers again if one has changed. `changes` is the current counter of changes of all breakers."""
        if changes == self._changes:
            return
        rows = _breakers_of([route.provider_id for route in self._routes])
        breakers = {breaker.pk: breaker for breaker in rows}
        for route in self._routes:
            breaker = copy(breakers.get(route.provider_id)) or CircuitBreaker()
            breaker.provider = route.provider
        self._changes = changes

    def settings_of(self, route: Route) -> RouteSettings:
        """Return the settings of a route, cached until its row is read again.

        Raises: ProtocolUnavailable.
        """
        row, settings = self._settings.get(route.pk, (None, None))
        if row is not route or settings is None:
            settings = RouteSettings.of(route)
            self._settings[route.pk] = route, settings
        return settings

    def has_learned(self, route: Route) -> None:
        """Note that a rejection taught a quirk of the route's model, so that the next call uses it."""
        self._settings.pop(route.pk, None)

    def tool_limit(self) -> int | None:
        """Return the most tools that the current route accepts: the first one that allows calls. None: no known limit.

        Protocols that describe tools in the prompt have no limit.
        """
        routes = self.current_routes()
        current = [route for route in routes if AttemptGuard(route).allows_calls] or routes
        try:
            settings = self.settings_of(current[0]) if current else None
        except ProtocolUnavailable:
            return None
        if settings is None or settings.target.tool_mode is not ToolMode.NATIVE:
            return None
        limit: int | None = settings.parameters.quirks.get("max_tools")
        return limit

    @cached_property
    def calls_natively(self) -> bool:
        """Return whether the first route's protocol has a field for tools. Independent of failures."""
        try:
            target = self.settings_of(self._routes[0]).target if self._routes else None
        except ProtocolUnavailable:
            return False
        return target is not None and target.tool_mode is ToolMode.NATIVE

    def current_routes(self) -> list[Route]:
        """Return the routes with a current `probe_is_due`, by this host's clock.

        Taking a probe uses the database's clock.
        """
        for route in self._routes:
            route.probe_is_due = _is_due(route.provider.circuit_breaker)  # type: ignore[attr-defined]
        return self._routes


def _is_due(breaker: CircuitBreaker) -> bool:
    """Evaluate the query `probe_is_due` for one breaker."""
    if breaker.probe_at is None:
        return False
    now, changed_at = timezone.now(), breaker.changed_at
    return breaker.probe_at <= now or (changed_at is not None and changed_at > now)
