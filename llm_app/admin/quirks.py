"""Learned quirks in the admin: their list, and the links to it from routes and providers."""

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, TabularInline

from llm_app.admin.read_only import ReadOnlyMixin, RedactedPagesMixin
from llm_app.models import LearnedQuirk, Provider, Route


class LearnedQuirkInline(ReadOnlyMixin, TabularInline):
    """The learned quirks on a provider's page. Deleting one happens on its own page, which asks for confirmation."""

    model = LearnedQuirk
    verbose_name_plural = "learned quirks"
    fields = ["provider_model", "quirk", "value", "reason", "learned_at"]
    readonly_fields = fields
    extra = 0
    hide_title = True
    show_change_link = True


@admin.register(LearnedQuirk)
class LearnedQuirkAdmin(RedactedPagesMixin, ModelAdmin):
    """Admin of learned quirks. After one is deleted, the next call sends the field again."""

    list_display = ["provider", "provider_model", "quirk", "value", "learned_at"]
    list_display_links = ["quirk"]
    list_filter = ["provider", "provider_model", "quirk"]
    list_select_related = ["provider"]
    search_fields = ["provider__name", "provider_model", "reason"]
    fields = ["provider", "provider_model", "quirk", "value", "reason", "learned_at"]
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


def with_learned_counts(rows: QuerySet[Route]) -> QuerySet[Route]:
    """Annotate routes with the number of learned quirks of their model."""
    quirks = LearnedQuirk.objects.filter(provider=OuterRef("provider"), provider_model=OuterRef("provider_model"))
    count = quirks.order_by().values("provider", "provider_model").annotate(count=Count("pk")).values("count")
    return rows.annotate(learned_count=Coalesce(Subquery(count), 0))


def with_provider_counts(rows: QuerySet[Provider]) -> QuerySet[Provider]:
    """Annotate providers with the number of quirks that were learned from them."""
    quirks = LearnedQuirk.objects.filter(provider=OuterRef("pk"))
    count = quirks.order_by().values("provider").annotate(count=Count("pk")).values("count")
    return rows.annotate(learned_count=Coalesce(Subquery(count), 0))


def link_to_quirks(count: int, **filters: str | int) -> SafeString:
    """Return the number of learned quirks as a link to their list, or "" if there are none."""
    if not count:
        return SafeString("")
    address = f"{reverse('admin:llm_app_learnedquirk_changelist')}?{urlencode(filters)}"
    return format_html('<a class="text-link" href="{}">{} learned</a>', address, count)


def quirks_of_route(route: Route) -> SafeString:
    """Return the learned quirks of a route, each with the link that forgets it."""
    rows = LearnedQuirk.objects.filter(provider=route.provider, provider_model=route.provider_model)
    lines = (
        (
            *(row.quirk, row.value, reverse("admin:llm_app_learnedquirk_change", args=[row.pk])),
            reverse("admin:llm_app_learnedquirk_delete", args=[row.pk]),
        )
        for row in rows
    )
    line = '<p>{} = {} · <a class="text-link" href="{}">Why</a> · <a class="text-link" href="{}">Forget</a></p>'
    return format_html_join("", line, lines) or SafeString("None.")
