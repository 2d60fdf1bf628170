"""Tests that servers can compile every tool list into a grammar. Otherwise they refuse all requests with it."""

import json

import pytest

from tests.contracts.grammars import llama_cpp_fault
from tools_app.contract import ToolDefinition, ToolVisibility, registry
from tools_app.json_schema.model_schemas import compilable
from tools_app.mcp.tool import mcp_tool


@pytest.mark.parametrize("tool", registry.all_tools(), ids=lambda tool: tool.name)
def test_built_in_tools_are_compilable(tool: ToolDefinition) -> None:
    assert llama_cpp_fault(tool.parameters_in(ToolVisibility())) == ""


def test_server_tools_are_compilable() -> None:
    """A schema like context7's loses its bounds. Arguments are checked against the complete schema."""
    schema = {"type": "object", "properties": {"query": {"type": "string", "maxLength": 65_536, "pattern": "x"}}}
    tool = mcp_tool(server="s", tool="t", description="d", schema=json.dumps(schema), digest="", danger="safe")
    assert tool.parameters_in(ToolVisibility()) == {"type": "object", "properties": {"query": {"type": "string"}}}
    assert tool.parameters == schema


def test_argument_names_are_not_taken_for_keywords() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}, "maxItems": {"type": "integer"}}}
    assert compilable(schema) == schema


def test_supported_bounds_are_unchanged() -> None:
    schema = {"type": "array", "maxItems": 30, "items": {"type": "string", "maxLength": 200, "pattern": "^a+$"}}
    assert compilable(schema) == schema
    assert compilable({"default": {"maxLength": 5_000}}) == {"default": {"maxLength": 5_000}}
