"""The price of a route as form fields."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextareaWidget

from llm_app.models import Route
from llm_app.pricing import prices

_FIELD_OF_KIND = {"input": "input_price", "cached_input": "cached_price", "cache_write": "cache_write_price"}
_FIELD_OF_KIND |= {"output": "output_price"}
_AS_INPUT = "If empty, the input price."
_ABOVE = 'For requests of more tokens, such as {"tokens": 200000, "input": 6, "output": 22.5}.'


def _price_field(label: str, help_text: str) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=0,
        max_value=prices.DEAREST,
        widget=UnfoldAdminDecimalFieldWidget,
    )


class PriceForm(forms.ModelForm):  # type: ignore[type-arg]
    """A route's form with its price as numbers, in US dollars per million tokens."""

    input_price = _price_field("Input", "What the model reads. 0 for a model that costs nothing, such as a local one.")
    output_price = _price_field("Output", "What the model writes.")
    cached_price = _price_field("Cached input", _AS_INPUT)
    cache_write_price = _price_field("Writing into the cache", _AS_INPUT)
    above = forms.JSONField(label="Long requests", help_text=_ABOVE, required=False, widget=UnfoldAdminTextareaWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own_price = self.instance.price
        listed = prices.listed_price(self.instance.provider, self.instance.provider_model) if self.instance.pk else {}
        for kind, name in _FIELD_OF_KIND.items():
            if name not in self.fields:  # users with view permission only have no form fields
                return
            self.initial[name] = own_price.get(kind)
            if kind in listed:
                self.fields[name].widget.attrs["placeholder"] = f"{listed[kind]:g} (price list)"
        self.initial["above"] = own_price.get("above")

    def clean_above(self) -> dict[str, Any]:
        above = self.cleaned_data["above"] or {}
        if above and not _is_tier(above):
            raise forms.ValidationError(f"Not a price for long requests. {_ABOVE}")
        return dict(above)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        price = {kind: cleaned[name] for kind, name in _FIELD_OF_KIND.items() if cleaned.get(name) is not None}
        if cleaned.get("above"):
            price["above"] = cleaned["above"]
        if price and not prices.is_known(price):
            missing = "input_price" if "input" not in price else "output_price"
            self.add_error(missing, "A price needs both figures: input and output. Enter 0 if one costs nothing.")
        self.instance.price = price
        return cleaned


def _is_tier(above: Any) -> bool:
    if not isinstance(above, dict) or type(above.get("tokens")) is not int:
        return False
    prices_above = [value for name, value in above.items() if name != "tokens"]
    return above.keys() <= {"tokens", *_FIELD_OF_KIND} and all(
        type(value) in (int, float) and 0 <= value <= prices.DEAREST for value in prices_above
    )


def effective_price(route: Route) -> str:
    """Return the description of the price that calls of the route are charged."""
    price = prices.price_of(route)
    if not prices.is_known(price):
        return "no price"
    return f"{price['input']:g} in, {price['output']:g} out{'' if route.price else ', from the price table'}"
