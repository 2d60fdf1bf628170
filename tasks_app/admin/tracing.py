"""The admin of trace sinks and the state of their delivery."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from llm_app.admin import WriteOnlyField
from llm_app.models import ServiceKey
from tasks_app.models import SinkKind, TraceSink

_STATE = ["lag", "delivered", "delivered_at", "failures", "last_error", "last_error_at", "next_at"]


class TraceSinkForm(forms.ModelForm):  # type: ignore[type-arg]
    key = WriteOnlyField(
        label="Key",
        required=False,
        help_text="HTTP: what requests are signed with. OpenTelemetry: the value of the header Authorization.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "key" in self.fields and self._has_key:
            self.fields["key"].help_text = "A value is stored. Leave this empty to keep it."

    @property
    def _has_key(self) -> bool:
        return bool(self.instance.pk) and ServiceKey.objects.filter(name=self.instance.key_name).exists()

    def clean_events(self) -> list[str]:
        return self.cleaned_data["events"] or []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        kind = cleaned.get("kind", "")
        if kind in (SinkKind.HTTP, SinkKind.OTLP) and not cleaned.get("url") and "url" not in self.errors:
            self.add_error("url", "This kind of sink needs an address.")
        if kind == SinkKind.HTTP and "key" in self.fields and not (cleaned.get("key") or self._has_key):
            self.add_error("key", "Requests are signed: write a key, and give it to the receiver.")
        return cleaned


@admin.register(TraceSink)
class TraceSinkAdmin(ModelAdmin):
    """Trace sinks. A new sink receives the events after its creation."""

    form = TraceSinkForm
    list_display = ["name", "kind", "enabled", "lag", "delivered", "delivered_at", "state", "short_error"]
    list_filter = ["kind", "enabled"]
    search_fields = ["name", "url"]
    fieldsets = (
        (None, {"fields": ["name", "kind", "enabled", "url", "key", "events", "content", "max_bytes"]}),
        ("Delivery", {"fields": _STATE}),
    )
    readonly_fields = _STATE
    actions = ["try_now", "send_all"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [*_STATE, "name"] if obj else _STATE  # the key and the file of the sink are stored under its name

    def get_queryset(self, request: HttpRequest) -> QuerySet[TraceSink]:
        sinks: QuerySet[TraceSink] = super().get_queryset(request)
        return sinks.with_lag()  # type: ignore[attr-defined, no-any-return]

    @display(description="not yet sent")
    def lag(self, sink: TraceSink) -> str:
        return f"{sink.lag} entries" if sink.pk else ""  # type: ignore[attr-defined]

    @display(description="state", label={"arriving": "success", "failing": "danger"})
    def state(self, sink: TraceSink) -> str:
        return "failing" if sink.failures else "arriving"

    @display(description="last error")
    def short_error(self, sink: TraceSink) -> str:
        return sink.last_error[:120]

    @action(description="Try now", permissions=["change"])
    def try_now(self, request: HttpRequest, queryset: QuerySet[TraceSink]) -> None:
        queryset.update(next_at=Now())
        messages.success(request, "Undelivered events are sent now.")

    @action(description="Send everything from the beginning of the record", permissions=["change"])
    def send_all(self, request: HttpRequest, queryset: QuerySet[TraceSink]) -> None:
        queryset.update(cursor=0, next_at=Now())
        messages.success(request, "Every event is sent again, under the same ids.")

    def save_model(self, request: HttpRequest, obj: TraceSink, form: TraceSinkForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change:
            TraceSink.objects.filter(pk=obj.pk).update(next_at=Now())
        if key := form.cleaned_data.get("key"):
            ServiceKey.store(obj.key_name, key)

    def delete_model(self, request: HttpRequest, obj: TraceSink) -> None:
        ServiceKey.objects.filter(name=obj.key_name).delete()
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[TraceSink]) -> None:
        for sink in queryset:
            self.delete_model(request, sink)
