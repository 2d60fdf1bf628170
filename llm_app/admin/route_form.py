"""The form of a route: its JSON fields are checked where they are written, not when a call fails."""

from collections.abc import Mapping
from typing import Any

from django import forms

_KINDS = ("input", "cached_input", "cache_write", "output")


class RouteForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = {
            "price": 'USD per million tokens, such as {"input": 3, "cached_input": 0.3, "output": 15}. Left out, the '
            "prices that ship with this server are taken; where they name none, only limits on tokens bind.",
            "extra_body": "Further fields of each request, as the provider names them. Its own tools stay off.",
            "quirks": 'How this provider differs from its protocol, such as {"strict_tools": true}.',
        }

    def clean_price(self) -> dict[str, Any]:
        price = _object(self.cleaned_data["price"])
        if not price:
            return price
        figures = {name: value for name, value in price.items() if name != "above"}
        if not _is_price(figures) or not {"input", "output"} <= figures.keys() or not _is_tier(price.get("above", {})):
            raise forms.ValidationError(f"USD per million tokens: input and output, and perhaps {_others()}.")
        return price

    def clean_extra_body(self) -> dict[str, Any]:
        return _object(self.cleaned_data["extra_body"])

    def clean_extra_headers(self) -> dict[str, Any]:
        headers = _object(self.cleaned_data["extra_headers"])
        if not all(isinstance(value, str) and value.isprintable() for value in headers.values()):
            raise forms.ValidationError("Each header is one line of text.")
        return headers

    def clean_quirks(self) -> dict[str, Any]:
        return _object(self.cleaned_data["quirks"])


def _object(value: Any) -> dict[str, Any]:
    """Nothing is an empty one."""
    if value and not isinstance(value, dict):
        raise forms.ValidationError("A JSON object, such as {}.")
    return dict(value or {})


def _is_price(figures: Mapping[str, Any]) -> bool:
    numbers = all(type(value) in (int, float) and value >= 0 for value in figures.values())
    return numbers and figures.keys() <= set(_KINDS)


def _is_tier(above: Any) -> bool:
    """`above` has the prices of requests of more than its `tokens`."""
    if not above:
        return bool(above == {})
    if not isinstance(above, dict) or type(above.get("tokens")) is not int:
        return False
    return _is_price({name: value for name, value in above.items() if name != "tokens"})


def _others() -> str:
    return ", ".join(kind for kind in _KINDS if kind not in ("input", "output")) + " and above"
