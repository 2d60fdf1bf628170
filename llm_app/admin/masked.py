"""Pages of the admin that show what tasks have said and done: what became a secret since is masked in them."""

from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse

from llm_app.redaction import active_secrets


class MaskedPages:
    """For an admin whose pages are only looked at: a form with masked values must never be saved."""

    def changelist_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return masked(super().changelist_view(*args, **kwargs))  # type: ignore[misc]

    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return masked(super().changeform_view(*args, **kwargs))  # type: ignore[misc]

    def history_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return masked(super().history_view(*args, **kwargs))  # type: ignore[misc]


def masked(response: HttpResponse) -> HttpResponse:
    """With what is secret to anybody masked in what is shown, escaped or not."""
    if isinstance(response, TemplateResponse):
        response.add_post_render_callback(_mask)
    return response


def _mask(response: TemplateResponse) -> None:
    response.content = active_secrets.of_everyone().masker.masked(response.content.decode()).encode()
