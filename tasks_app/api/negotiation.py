"""What comes back does not depend on the Accept header."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request


class AsItIs(DefaultContentNegotiation):
    """Files and event streams have the type that they have; an error beside them is JSON."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:
        return JSONRenderer(), JSONRenderer.media_type
