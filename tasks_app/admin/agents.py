from django.contrib import admin
from unfold.admin import ModelAdmin

from tasks_app.models import Agent


@admin.register(Agent)
class AgentAdmin(ModelAdmin):
    list_display = ["name", "description", "model", "is_default"]
    search_fields = ["name", "description"]
