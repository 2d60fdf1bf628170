"""The admin's first page: the state of the installation."""

from typing import Any

from django.http import HttpRequest

from agentsite.checks.examination import quick


def state(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's dashboard callback. The findings name weaknesses, so they are for superusers."""
    return context | {"findings": list(quick()) if request.user.is_superuser else []}
