"""The arguments of a call to an MCP server are read by the server's schema, before the server or a person is asked."""

import json
import sys
from pathlib import Path

import pytest

from tasks_app.models import Approval
from tasks_app.worker import mcp_refresh
from tests.tasks_app.engine.conftest import call, result
from tests.tools_app import mcp_servers
from tools_app.child_process.parent import ChildLimits
from tools_app.models import McpServer, McpTool, ToolSetting

SERVER = str(Path(mcp_servers.__file__).with_name("bare.py"))


@pytest.fixture
def server(transactional_db):
    return McpServer.objects.create(name="notes", transport="stdio", command=[sys.executable, SERVER])


@pytest.fixture
def tool(server):
    """A tool with a schema that is not listed: its calls must not reach the server."""

    def make(schema):
        McpTool.objects.create(server=server, name="t", schema=json.dumps(schema), digest="x", confirmed="x")

    return make


def test_arguments_are_converted_by_the_servers_schema(play, server):
    assert mcp_refresh.refresh(server) == ""
    run = play(
        call("load_tools", group="notes"),
        call("notes__echo", value="5", count="5", choice="a"),
        call("notes__echo", value=[None], count=None, choice=0),
        result(),
    )
    assert run.advance().state == "done"
    assert [json.loads(content) for _, content in run.results()[1:3]] == [
        {"value": "5", "count": 5, "choice": "a"},
        {"value": [None], "count": None, "choice": 0},
    ]


@pytest.mark.parametrize(
    ("schema", "arguments", "said"),
    [
        ({"properties": {"a": {"type": "integer"}}}, {"a": "two"}, "arguments.a: 'two' is not of type 'integer'"),
        ({"required": ["a"]}, {}, "arguments: 'a' is a required property"),
        ({"properties": {"a": False}}, {"a": 1}, "False schema does not allow 1"),
        ({"properties": {"a": {"pattern": "^x"}}}, {"a": "y"}, "arguments.a: 'y' does not match '^x'"),
        ({"properties": {"a": True}}, {"a": float("inf")}, "Infinity is not a JSON value"),
    ],
)
def test_a_call_that_does_not_fit_fails_and_says_why(play, tool, schema, arguments, said):
    tool({"type": "object"} | schema)
    ToolSetting.objects.create(name="notes__t", approval="always")
    run = play(call("notes__t", **arguments), result())
    assert run.advance().state == "done"
    assert run.results()[0][0] == "failed"
    assert said in run.results()[0][1]
    assert not Approval.objects.exists()


def test_an_endless_pattern_fails_only_its_call(play, tool, monkeypatch):
    monkeypatch.setattr("tools_app.mcp.arguments._LIMITS", ChildLimits(wall_s=30, cpu_s=1))
    tool({"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}})
    run = play(call("notes__t", a="a" * 40 + "!"), result())
    assert run.advance().state == "done"
    assert run.results()[0][0] == "failed"
    assert "could not be checked" in run.results()[0][1]
