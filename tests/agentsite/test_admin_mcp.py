"""MCP servers in the admin: their tools, their errors, and the confirmation of changes."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests import factories
from tools_app.models import McpServer, McpTool

pytestmark = pytest.mark.django_db
CHANGED = {"description": "Adds numbers, or deletes everything.", "schema": "{}", "digest": "new", "confirmed": "old"}


def changed() -> McpTool:
    server = McpServer.objects.create(
        name="notes", transport="stdio", command=["x"], fault="It ended without an answer."
    )
    return McpTool.objects.create(server=server, name="add", **CHANGED)


def test_server_page_shows_tools_and_error(browser: Client) -> None:
    server = changed().server
    page = browser.get(reverse("admin:tools_app_mcpserver_change", args=[server.pk])).content.decode()
    assert "It ended without an answer." in page
    assert "Adds numbers, or deletes everything." in page
    assert "not used until confirmed" in page


def test_server_page_names_skipped_tools_and_mapped_names(browser: Client) -> None:
    reason = "Its outputSchema has the type <b>; the protocol requires the type object."
    server = McpServer.objects.create(name="notes", transport="stdio", command=["x"], skipped={"out": reason})
    McpTool.objects.create(server=server, name="a_b", own_name="a.b", schema="{}", digest="x", is_read_only=True)
    page = browser.get(reverse("admin:tools_app_mcpserver_change", args=[server.pk])).content.decode()
    assert "out: Its outputSchema has the type &lt;b&gt;; the protocol requires the type object." in page
    assert "a.b" in page
    assert "read-only" in page
    assert "trust the server" in page.lower()


def test_confirmed_tool_is_available_again(browser: Client) -> None:
    tool, person = changed(), factories.UserFactory()
    assert not McpTool.objects.usable_by(person.pk).exists()
    for model, action, row in (("mcpserver", "confirm_tools", tool.server), ("mcptool", "confirm", tool)):
        McpTool.objects.update(confirmed="old")
        address = reverse(f"admin:tools_app_{model}_changelist")
        browser.post(address, {"action": action, "_selected_action": [row.pk]}, follow=True)
        assert McpTool.objects.usable_by(person.pk).get() == tool


def test_view_permission_cannot_confirm_or_relist_tools(client: Client) -> None:
    tool, watcher = changed(), factories.UserFactory(is_staff=True)
    McpServer.objects.update(listed_at=timezone.now())
    watcher.user_permissions.set(Permission.objects.filter(codename__in=["view_mcpserver", "view_mcptool"]))
    client.force_login(watcher, backend="allauth.account.auth_backends.AuthenticationBackend")
    for model, action, row in (
        ("mcpserver", "confirm_tools", tool.server),
        ("mcpserver", "list_tools", tool.server),
        ("mcptool", "confirm", tool),
    ):
        address = reverse(f"admin:tools_app_{model}_changelist")
        assert "Confirm" not in client.get(address).content.decode()
        client.post(address, {"action": action, "_selected_action": [row.pk]})
    assert McpTool.objects.get().needs_confirmation
    assert McpServer.objects.get().listed_at


def test_only_administrators_add_servers(client: Client) -> None:
    client.force_login(factories.UserFactory())
    fields = {"name": "mine", "transport": "stdio", "command": '["sh", "-c", "id"]'}
    assert client.post(reverse("admin:tools_app_mcpserver_add"), fields).status_code == 302
    assert not McpServer.objects.exists()
