"""Tools of an MCP server in a whole task: listed, confirmed, opened by role, loaded by group, and called."""

import os
import sys
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from django.contrib.auth.models import Group

from llm_app.models import Secret
from tasks_app import services
from tasks_app.models import Approval, ContextEntry, Loaded
from tasks_app.run import affinity
from tasks_app.worker import mcp_refresh
from tests.processes import below
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tools_app import mcp_servers
from tests.waiting import until
from tools_app import policy
from tools_app.errors import ToolError
from tools_app.mcp import ListedTool, Listing
from tools_app.models import McpServer, McpTool, ToolSetting

SERVER = str(Path(mcp_servers.__file__).with_name("bare.py"))


@pytest.fixture
def server(transactional_db):
    """A server after its first listing, without starting it."""
    server = McpServer.objects.create(
        name="notes", description="Keeps notes.", transport="stdio", command=[sys.executable, SERVER]
    )
    for name in ("add", "keep"):
        McpTool.objects.create(server=server, name=name, schema='{"type": "object"}', digest=name, confirmed=name)
    return server


def test_from_the_first_listing_to_a_result(play, owner, server):
    server.tools.all().delete()
    assert mcp_refresh.refresh(server) == ""
    assert {tool.name for tool in McpTool.objects.usable_by(owner.pk)} >= {"add", "keep", "fail"}
    run = play(call("load_tools", group="notes"), call("notes__add", a="1", b=2), result())
    assert run.advance().state == "done"
    assert run.results()[0][1].startswith("Usable now: notes__add")
    assert run.results()[1] == ("succeeded", "3")
    assert Loaded.objects.get().name == "notes"


def test_a_server_does_not_receive_the_step_of_the_plan(play, server):
    server.tools.all().delete()
    assert mcp_refresh.refresh(server) == ""
    add = call("notes__add", a=1, b=2, plan_step=2)
    run = play(call("plan", steps=["Load", "Add"]), call("load_tools", group="notes"), add, result())
    assert run.advance().state == "done"
    assert run.results()[2] == ("succeeded", "3")
    assert [step["status"] for step in run.task.plan] == ["done", "in_progress"]
    assert "plan_step" not in run.task.tool_calls.get(name="notes__add").arguments


def test_a_listing_that_changed_holds_the_tool_until_it_is_confirmed(owner, server):
    server.tools.filter(name="add").update(digest="another")
    assert [tool.name for tool in McpTool.objects.usable_by(owner.pk)] == ["keep"]
    server.tools.filter(name="add").update(confirmed="another")
    assert McpTool.objects.usable_by(owner.pk).count() == 2


def test_new_tools_of_a_known_server_are_held(server):
    new = ListedTool(name="new", own_name="new", description="", schema="{}")
    mcp_refresh._store_tools(server, Listing(tools=[new]), confirmed=False)
    assert server.tools.get(name="new").needs_confirmation
    assert server.tools.get(name="add").is_gone


@pytest.mark.parametrize(("hidden", "status"), [("role", "failed"), ("setting", "blocked"), ("server", "failed")])
def test_a_tool_that_is_not_open_to_the_person_does_not_run(play, server, hidden, status):
    if hidden == "role":
        server.roles.add(Group.objects.create(name="others"))
    elif hidden == "setting":
        ToolSetting.objects.create(name="notes__add", enabled=False)
    else:
        McpServer.objects.update(enabled=False)
    run = play(call("notes__add", a=1, b=2), result())
    run.advance()
    assert run.results()[0][0] == status


def test_few_tools_are_shown_at_once_and_many_by_group(play, server, monkeypatch):
    run = play(call("notes__add", a=1, b=2), result())
    monkeypatch.setattr(policy, "MAX_SHOWN", 1)
    run.advance()
    assert run.results()[0] == (
        "blocked",
        "The tool notes__add is not loaded. Call load_tools with group 'notes' first.",
    )


def test_moderate_by_default_and_as_strict_as_the_administrator_says(play, server):
    ToolSetting.objects.create(name="notes__add", approval="always")
    task = play(call("notes__add", a=1, b=2), result()).advance()
    assert task.waiting_for == "approval"


@pytest.mark.parametrize(
    ("fields", "trusted", "danger", "waits_for"),
    [
        ({"is_destructive": True}, False, "moderate", "approval"),
        ({"is_destructive": True}, True, "safe", "approval"),
        ({"is_read_only": True}, True, "dangerous", None),
        ({"is_read_only": True}, False, "dangerous", "approval"),
        ({}, True, "moderate", None),
    ],
)
def test_annotations_make_a_tool_stricter_or_if_trusted_looser(play, server, fields, trusted, danger, waits_for):
    server.tools.filter(name="add").update(**fields)
    McpServer.objects.update(trusts_annotations=trusted, danger=danger)
    task = play(call("notes__add", a=1, b=2), result()).advance()
    assert task.waiting_for == waits_for
    if fields.get("is_destructive"):
        assert Approval.objects.get().reason == "its server calls it destructive"


def test_a_missing_credential_is_explained(play, owner, server):
    server.credential = "NOTES_KEY"
    server.save()
    run = play(call("notes__add", a=1, b=2), result())
    run.advance()
    assert "needs the secret NOTES_KEY" in run.results()[0][1]


def test_the_credential_is_sent_but_not_recorded(play, owner, server):
    server.tools.all().delete()
    server.credential = "NOTES_KEY"
    server.save()
    Secret.objects.create(name="NOTES_KEY", value="correct-horse-battery", owner=owner)
    assert mcp_refresh.refresh(server) == ""
    run = play(call("load_tools", group="notes"), call("notes__environment"), result())
    run.advance()
    assert "NOTES_KEY" in run.results()[1][1]
    assert not ContextEntry.objects.filter(content__contains="correct-horse").exists()


def test_loaded_groups_stay_for_the_next_task(play, owner, server, monkeypatch):
    monkeypatch.setattr(policy, "MAX_SHOWN", 1)
    run = play(call("load_tools", group="notes"), result())
    run.advance()
    ToolSetting.objects.create(name="notes__add", approval="always")
    task = services.post_message(run.task.session, owner, script(call("notes__add", a=1, b=2), result())).task
    assert Run(task).advance().waiting_for == "approval"


@pytest.fixture
def full_server(server):
    """A group with more tools than the model's provider accepts."""
    McpTool.objects.bulk_create(
        McpTool(server=server, name=f"tool{number}", schema='{"type": "object"}', digest="a", confirmed="a")
        for number in range(60)
    )
    McpTool.objects.create(server=server, name="fail", schema='{"type": "object"}', digest="a", confirmed="a")
    return server


def test_a_group_that_does_not_fit_is_refused_and_some_of_its_tools_are_loaded(play, full_server):
    run = play(
        *(call("load_tools", group="notes"), call("load_tools", group="notes__fail, subtract,add")),
        *(call("load_tools", group="fail, notes__tool7"), call("notes__fail"), call("notes__keep")),
        *(call("load_tools", group="notes", unload=True), call("notes__fail"), result()),
    )
    run.task.session.model.routes.update(quirks={"max_tools": 40})
    assert run.advance().state == "done"
    (_, refused), (_, unknown), loaded, *later = run.results()
    assert "this model takes at most 40 tools: " in refused
    assert "more fit. Call load_tools again with the names" in refused
    assert "They are, in alphabetical order: notes__add, notes__fail, notes__keep" in refused
    assert unknown == "Nothing was changed: the group notes has no subtract. The others are right."
    assert loaded == ("succeeded", "Usable now: notes__fail, notes__tool7.")
    assert ["is not loaded" in text for _, text in later[:4]] == [False, True, False, True]
    assert not Loaded.objects.exists()


def test_tools_that_are_no_longer_needed_make_room(play, full_server):
    def names(first, last):
        return ", ".join(f"tool{number}" for number in range(first, last))

    run = play(
        *(
            call("load_tools", group=names(0, 60)),
            call("load_tools", group=names(0, 17)),
            call("load_tools", group="fail"),
        ),
        *(call("load_tools", group="notes__tool1, tool2", unload=True), call("load_tools", group="fail")),
        *(call("notes__tool0"), call("notes__tool1"), result()),
    )
    run.task.session.model.routes.update(quirks={"max_tools": 33})
    assert run.advance().state == "done"
    many, _, full, unloaded, loaded, first, second, *_ = [text for _, text in run.results()]
    assert many == "Nothing was loaded: you named 60 tools, and 17 more fit. Name fewer."
    assert full.endswith(
        "all 33 are in use. To make room, call load_tools with unload, and a group or tools that you no longer "
        "need (17 of notes)."
    )
    assert unloaded == "Unloaded: notes__tool1, notes__tool2. Load them again when you need them."
    assert loaded == "Usable now: notes__fail."
    assert ("is not loaded" in first, "is not loaded" in second) == (False, True)


def test_an_unloaded_group_can_be_loaded_again(play, server, monkeypatch):
    monkeypatch.setattr(policy, "MAX_SHOWN", 1)
    ToolSetting.objects.create(name="notes__add", approval="always")
    load, unload, add = call("load_tools", group="notes"), call("load_tools", group="notes", unload=True), {"a": 1}
    run = play(load, unload, call("notes__add", **add), load, call("notes__add", **add))
    assert run.advance().waiting_for == "approval"
    assert [status for status, _ in run.results()] == ["succeeded", "succeeded", "blocked", "succeeded"]
    assert run.results()[1][1].startswith("Unloaded: notes__add, notes__keep.")
    told = [entry.content for entry in run.entries if entry.metadata.get("kind") == "tool_list"]
    assert told == [], "the results have said it"


@pytest.mark.parametrize(("exempt", "status"), [(["keep"], "blocked"), (["add"], "failed")])
def test_tools_can_be_exempt_from_the_loop_rule(play, server, monkeypatch, exempt, status):
    monkeypatch.setattr("tools_app.mcp.tool.call", AsyncMock(side_effect=ToolError("Not yet.")))
    McpServer.objects.update(loop_exempt=exempt)
    run = play(*[call("notes__add", a=1)] * 6, result())
    run.advance()
    assert [status for status, _ in run.results()[:6]] == ["failed"] * 5 + [status]


@pytest.mark.parametrize("by", ["us", "another process"])
def test_its_connections_end_with_the_session(play, server, by):
    server.tools.all().delete()
    assert mcp_refresh.refresh(server) == ""
    before = below(os.getpid())
    run = play(call("load_tools", group="notes"), call("notes__add", a=1, b=2), result())
    session = run.advance().session
    assert below(os.getpid()) > before
    if by == "us":
        services.delete_session(session)
    else:
        type(session).objects.all().delete()
        affinity.release_deleted()
    until(lambda: below(os.getpid()) <= before)


def test_placeholders_in_the_arguments_are_not_replaced(play, owner, server):
    server.tools.all().delete()
    Secret.objects.create(name="TOKEN", value="correct-horse-battery-staple", owner=owner)
    assert mcp_refresh.refresh(server) == ""
    run = play(call("load_tools", group="notes"), call("notes__measure", text="[secret:TOKEN]"), result())
    run.advance()
    assert run.results()[1] == ("succeeded", str(len("[secret:TOKEN]")))


def test_tools_are_listed_with_the_teams_credential_and_never_with_a_persons(owner, server, monkeypatch):
    given = []

    async def listed(server, credential):
        given.append(credential)
        return Listing()

    monkeypatch.setattr(mcp_refresh, "_listed", listed)
    server.credential = "NOTES_KEY"
    Secret.objects.create(name="NOTES_KEY", value="of-a-person-battery", owner=owner)
    mcp_refresh.refresh(server)
    Secret.objects.create(name="NOTES_KEY", value="of-the-team-battery", owner=None)
    mcp_refresh.refresh(server)
    assert given == ["", "of-the-team-battery"]
