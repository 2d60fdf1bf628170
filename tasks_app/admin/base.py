"""What administrators look at and do not touch."""

from unfold.admin import ModelAdmin, TabularInline

from llm_app.admin.read_only import RedactedPages, Untouched


class ReadOnlyAdmin(RedactedPages, Untouched, ModelAdmin):
    """Lists and pages; no total is counted for a search, for these tables are the large ones."""

    show_full_result_count = False
    ordering = ["-pk"]


class ReadOnlyInline(Untouched, TabularInline):
    extra = 0
    per_page = 20
    show_change_link = True
    tab = True
