"""The admin of projects, their members, and the search index of their files."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.decorators import action, display

from llm_app.admin import RedactedPagesMixin
from tasks_app.admin.base import LargeTable, ReadOnlyInline, link_to_rows
from tasks_app.models import LibraryFile, Project, ProjectMember, Session


class ProjectMemberInline(TabularInline):
    model = ProjectMember
    autocomplete_fields = ["user"]
    fields = ["user", "role", "may_write"]
    extra = 0


class LibraryFileInline(ReadOnlyInline):
    model = LibraryFile
    verbose_name_plural = "library"
    fields = readonly_fields = ["name", "size", "added_by", "state", "pages", "passages", "problem", "vectors_problem"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[LibraryFile]:
        files: QuerySet[LibraryFile] = super().get_queryset(request)
        counts = {"found_by_words": Count("passages"), "found_by_meaning": Count("passages__vector")}
        return files.select_related("added_by").annotate(**counts).order_by("-pk")

    @display(description="pages read")
    def pages(self, file: LibraryFile) -> str:
        return f"{file.pages_read:,} of {file.count:,}"

    def passages(self, file: Any) -> str:
        return f"{file.found_by_words:,}, {file.found_by_meaning:,} with a vector ({file.vectors_of or 'no model'})"


@admin.register(Project)
class ProjectAdmin(RedactedPagesMixin, LargeTable):
    """Projects, which administrators can view, share, and delete with their files. Users create and change them."""

    list_display = ["name", "owner", "sessions_link", "file_counts"]
    list_select_related = ["owner"]
    search_fields = ["id", "name", "owner__username"]
    fields = ["name", "owner", "agent", "instructions", "sessions_link", "created_at"]
    readonly_fields = fields
    inlines = [ProjectMemberInline, LibraryFileInline]
    actions = ["read_again"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        projects: QuerySet[Project] = super().get_queryset(request)
        projects = projects.prefetch_related(Prefetch("sessions", Session.objects.order_by().only("project")))
        failed, read = Q(files__state="failed"), Q(files__state="ready")
        counts = {"failed_files": Count("files", filter=failed), "read_files": Count("files", filter=read)}
        return projects.annotate(all_files=Count("files"), **counts)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the members, and make running tasks check access to the library again."""
        super().save_related(request, form, formsets, change)
        form.instance.publish_change()

    @action(description="Read failed files again", permissions=["change"])
    def read_again(self, request: HttpRequest, queryset: QuerySet[Project]) -> None:
        failed = LibraryFile.objects.filter(project__in=list(queryset), state="failed")
        count = failed.update(state="waiting", problem="", tries=0, pages_read=0)
        messages.success(request, f"Queued for reading again: {count} files.")

    @display(description="sessions")
    def sessions_link(self, project: Project) -> SafeString:
        return link_to_rows(Session, len(project.sessions.all()), project__id__exact=project.pk)

    @display(description="files", ordering="all_files")
    def file_counts(self, project: Any) -> str:
        return f"{project.all_files:,}, {project.read_files:,} ready, {project.failed_files:,} failed"
