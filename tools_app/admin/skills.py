from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.widgets import UnfoldAdminFileFieldWidget

from tools_app.models import Skill, SkillFile
from tools_app.skills.skill_files import LARGEST, BadSkill, SkillText, refused_skills, remark, uploaded_skill


class SkillForm(forms.ModelForm):  # type: ignore[type-arg]
    """The text by hand, or all of it by an upload."""

    upload = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget(),
        help_text="A SKILL.md, or a zip archive that contains one and its files. It replaces the fields below.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.uploaded: SkillText | None = None
        for name in {"name", "description", "body"} & self.fields.keys():
            self.fields[name].required = False

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if file := cleaned.get("upload"):
            self.uploaded = self._unpacked(file)
            cleaned |= {name: getattr(self.uploaded, name) for name in ("name", "description", "body")}
        for name in ("name", "description", "body"):
            if not cleaned.get(name):
                self.add_error(name, "This field is required unless you upload a file.")
        return cleaned

    def _unpacked(self, file: UploadedFile) -> SkillText:
        if (file.size or 0) > LARGEST:
            raise forms.ValidationError(f"An upload may have at most {LARGEST // 1000**2} MB.")
        try:
            return uploaded_skill(file.name or "", file.read())
        except BadSkill as error:
            raise forms.ValidationError(str(error)) from error


class SkillFileInline(TabularInline):
    model = SkillFile
    extra = 0
    fields = ["path", "executable"]
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Skill)
class SkillAdmin(ModelAdmin):
    form = SkillForm
    list_display = ["name", "description", "enabled", "changed_at"]
    list_filter = ["enabled"]
    search_fields = ["name", "description"]
    fields = ["upload", "name", "description", "body", "enabled", "roles"]
    filter_horizontal = ["roles"]
    inlines = [SkillFileInline]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Also names the folders that are left out: they have no row."""
        for path, reason in refused_skills(Path(settings.SKILLS_DIR)).items():
            messages.warning(request, f"{path} was left out: {reason}")
        return super().changelist_view(request, extra_context)

    def save_model(self, request: HttpRequest, obj: Skill, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.uploaded is not None:
            obj.files.all().delete()
            SkillFile.objects.bulk_create(
                SkillFile(skill=obj, path=path, content=content, executable=path in form.uploaded.executable)
                for path, content in form.uploaded.files.items()
            )
        if words := remark(obj.description):
            messages.warning(request, words)
