"""The prompt before the conversation: short, without noise, and true."""

import json
import re
from collections.abc import Iterator
from shutil import which
from typing import Any

import pytest

from llm_app.models import Blob, LLMLog
from llm_app.types import ToolMode
from tasks_app.engine.prompt.sections import PromptInputs, system_prompt
from tasks_app.models import Limits
from tasks_app.record import tokens
from tests.tasks_app.engine.conftest import result
from tools_app.browser.program import chromium_path
from tools_app.contract import ToolVisibility, registry
from tools_app.sandbox import CommandLimits, cores
from tools_app.sandbox.bubblewrap import python_prefix
from tools_app.sandbox.shell_command import PATH
from tools_app.shell import background_jobs
from tools_app.tools import shell

MOST = 20_000  # bytes of system prompt and tool list of an ordinary task
INPUTS = PromptInputs(person="ada", preferences="", has_shell=True, sandbox="bubblewrap", cli_tools="git")
OURS = [tool for tool in registry.all_tools() if not tool.own_schema]
SITUATIONS = [ToolVisibility(), ToolVisibility(makes_images=True, makes_audio=True)]


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and each schema inside it."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from schemas_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from schemas_in(item)


def arguments_in(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and schema of each argument, including nested ones."""
    for part in schemas_in(schema):
        if part.get("type") == "object":
            yield from part.get("properties", {}).items()


def test_the_prompt_of_an_ordinary_task_is_bounded(play):
    run = play(result())
    run.advance()
    log = LLMLog.objects.get(task_id=run.task.id)
    system, tools = (Blob.objects.get(pk=pk).content for pk in (log.system_blob, log.tools_blob))
    assert len(json.loads(tools)) == (15 if chromium_path() else 14)  # without one, there is no browser
    assert len(system.encode()) + len(tools.encode()) <= MOST


@pytest.mark.parametrize("visibility", SITUATIONS, ids=["at first", "later"])
@pytest.mark.parametrize("tool", OURS, ids=lambda tool: tool.name)
def test_a_tools_schema_has_no_noise_and_describes_every_argument(tool, visibility):
    schema = tool.parameters_in(visibility)
    for part in schemas_in(schema):
        assert {"type": "null"} not in part.get("anyOf", [])
        assert part.get("default", "") is not None
        assert not isinstance(part.get("title"), str)
        assert "$ref" not in part
    for name, argument in arguments_in(schema):
        assert argument.get("description"), name


def test_limits_in_the_prompt_are_true(play):
    run = play(result())
    run.advance()
    prompt = Blob.objects.get(pk=LLMLog.objects.get(task_id=run.task.id).system_blob).content
    assert f"at most about {tokens.page_bytes(Limits.current().result_tokens_in(128_000))} bytes" in prompt
    assert "unless you start it with `background`" in prompt
    limits = CommandLimits()
    assert f"Limits: {cores()} × timeout_s CPU seconds ({cores()} cores), " in prompt
    assert (
        f" {limits.memory >> 30} GiB of memory, {limits.processes} processes, {limits.temporary >> 20} MiB in /tmp.\n"
        in prompt
    )
    assert "background" in shell.ShellArguments.model_fields
    assert "no job of the session was used for half an hour" in shell._LEFT_RUNNING
    assert background_jobs.IDLE_S == 1800


def test_a_machine_without_a_sandbox_is_not_called_one():
    said = system_prompt(PromptInputs(**vars(INPUTS) | {"sandbox": "local"}))
    assert "without a sandbox" in said
    environment = said.partition("<environment>")[2].partition("</environment>")[0]
    assert "No network" not in environment


def test_the_environment_names_programs_that_are_there_and_those_that_are_not(play):
    run = play(result())
    run.advance()
    log = LLMLog.objects.get(task_id=run.task.id)
    installed, missing = re.search(
        r"^- Installed: (.*?)\.(?: Not: (.*?)\.)?$", Blob.objects.get(pk=log.system_blob).content, re.MULTILINE
    ).groups(default="")
    path = f"{PATH}:{python_prefix() / 'bin'}" if python_prefix() else PATH
    assert {"python3", "git"} <= set(installed.split(", "))
    assert all(which(name, path=path) for name in installed.split(", "))
    assert not any(which(name, path=path) for name in missing.split(", "))
    assert "No network: pip, curl and npm reach nothing." in Blob.objects.get(pk=log.system_blob).content


@pytest.mark.parametrize("mode", [ToolMode.NATIVE])
def test_the_prompt_says_that_words_beside_a_call_are_progress_and_asks_for_suggestions(mode):
    said = system_prompt(PromptInputs(**vars(INPUTS) | {"mode": mode}))
    assert "shown to the person as progress" in said
    assert re.search(r"`suggestions`", said)
