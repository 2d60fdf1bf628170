from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin

from tools_app.models import AllowedAddress
from tools_app.network.policy import NetworkPolicy


class AllowedAddressForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_address(self) -> str:
        address = str(self.cleaned_data["address"])
        try:
            NetworkPolicy(allow_internal=frozenset([address]))
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from error
        return address


@admin.register(AllowedAddress)
class AllowedAddressAdmin(ModelAdmin):
    form = AllowedAddressForm
    list_display = ["address"]
    search_fields = ["address"]
