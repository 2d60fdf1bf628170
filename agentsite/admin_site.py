"""The look of the admin: its title, sidebar and first page."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy

from agentsite.environment import VERSION


def _item(title: str, icon: str, model: str) -> dict[str, Any]:
    """Return a sidebar link to the list of `model` ("app.name"), for users with the view permission."""
    app, name = model.split(".")
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{name}_changelist"),
        "permission": lambda request: request.user.has_perm(f"{app}.view_{name}"),
    }


NAVIGATION = [
    {
        "title": "Work",
        "items": [
            _item("Sessions", "forum", "tasks_app.session"),
            _item("Projects", "folder_shared", "tasks_app.project"),
            _item("Tasks", "task_alt", "tasks_app.task"),
            _item("Approvals", "approval_delegation", "tasks_app.approval"),
            _item("Inbox", "inbox", "tasks_app.inboxmessage"),
        ],
    },
    {
        "title": "Record",
        "items": [
            _item("Entries", "list_alt", "tasks_app.contextentry"),
            _item("Tool calls", "build", "tasks_app.toolcalllog"),
            _item("Loaded groups and skills", "download_done", "tasks_app.loaded"),
            _item("Changes of files", "history", "tasks_app.workspacechange"),
            _item("LLM calls", "neurology", "llm_app.llmlog"),
            _item("Prompts and tool lists", "article", "llm_app.blob"),
        ],
    },
    {
        "title": "Models",
        "items": [
            _item("Providers", "dns", "llm_app.provider"),
            _item("Models", "psychology", "llm_app.logicalmodel"),
            _item("Routes", "alt_route", "llm_app.route"),
            _item("Learned quirks", "school", "llm_app.learnedquirk"),
            _item("Breaker history", "electrical_services", "llm_app.breakerchange"),
        ],
    },
    {
        "title": "Agents",
        "items": [
            _item("Agents", "smart_toy", "tasks_app.agent"),
            _item("Agent versions", "manage_history", "tasks_app.agentversion"),
            _item("Workflows", "format_list_numbered", "tasks_app.workflow"),
            _item("Routing rules", "signpost", "tasks_app.routingrule"),
            _item("Memory", "psychology_alt", "tasks_app.memorynote"),
        ],
    },
    {
        "title": "Tools",
        "items": [
            _item("Tools", "handyman", "tools_app.toolsetting"),
            _item("Skills", "school", "tools_app.skill"),
            _item("MCP servers", "hub", "tools_app.mcpserver"),
            _item("MCP tools", "extension", "tools_app.mcptool"),
            _item("Search engines", "travel_explore", "tools_app.searchengine"),
            _item("Internal addresses", "lan", "tools_app.allowedaddress"),
            _item("Secrets", "key", "llm_app.secret"),
        ],
    },
    {
        "title": "People",
        "items": [
            _item("Users", "person", "accounts.user"),
            _item("Roles", "groups", "auth.group"),
            _item("API tokens", "token", "accounts.apitoken"),
        ],
    },
    {
        "title": "Operation",
        "items": [
            _item("Limits", "speed", "tasks_app.limits"),
            _item("Budgets", "payments", "llm_app.budget"),
            _item("Workers", "memory", "tasks_app.engineprocess"),
            _item("Trace sinks", "output", "tasks_app.tracesink"),
            _item("Applied configuration", "settings", "agentsite.appliedvalue"),
        ],
    },
]

UNFOLD = {
    "SITE_TITLE": "agentsite",
    "SITE_HEADER": "agentsite",
    "SITE_SUBHEADER": f"Version {VERSION}",
    "SITE_SYMBOL": "smart_toy",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("icons.svg")}],
    "STYLES": [lambda request: static("admin.css")],
    "DASHBOARD_CALLBACK": "agentsite.admin.dashboard",
    "SIDEBAR": {"navigation": NAVIGATION},
}
