from datetime import timedelta

from django.contrib import admin
from django.utils import timezone
from unfold.decorators import display

from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.models import EngineProcess
from tasks_app.models.engine_process import ALIVE_SECONDS


@admin.register(EngineProcess)
class EngineProcessAdmin(ReadOnlyAdmin):
    list_display = ["name", "alive", "started_at", "seen_at"]
    ordering = ["-seen_at"]

    @display(description="alive", boolean=True)
    def alive(self, process: EngineProcess) -> bool:
        return timezone.now() - process.seen_at < timedelta(seconds=ALIVE_SECONDS)
