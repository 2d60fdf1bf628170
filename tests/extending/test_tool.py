"""Tests of the tool package that docs/extending.md shows: installed, listed, run, allowed and denied."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsite.checks import operation
from agentsite.checks import registry as checks
from tests.tasks_app.engine.conftest import call, owner, play, result  # noqa: F401  fixtures
from tools_app.contract import registry
from tools_app.errors import UnknownTool
from tools_app.models import ToolSetting
from tools_app.policy import policy_for

EXAMPLE = Path(__file__).parent / "tool" / "word_count.py"
DOCS = Path(__file__).parents[2] / "docs" / "extending.md"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install distributions, each with one module and its entry point, and load the plugins as at a start."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_tools", dict(registry._tools))
    modules: list[str] = []

    def write(**sources: str) -> None:
        for name, source in sources.items():
            modules.append(name)
            (tmp_path / f"{name}.py").write_text(source)
            info = tmp_path / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[agentsite.tools]\n{name} = {name}\n")
        importlib.invalidate_caches()
        registry.load_plugins()

    yield write
    for name in modules:
        sys.modules.pop(name, None)
    registry._plugin_errors.clear()


def test_document_shows_the_example_verbatim() -> None:
    assert f"```python\n{EXAMPLE.read_text()}```" in DOCS.read_text()


def test_an_installed_tool_runs_like_a_built_in_one(install: Install, play) -> None:  # noqa: F811
    install(word_count=EXAMPLE.read_text())
    run = play(
        call("file", action="write", path="a.txt", content="one two three"), call("word_count", path="a.txt"), result()
    )
    assert run.advance().state == "done"
    assert run.results()[1] == ("succeeded", "a.txt has 3 words.")
    assert registry.compact_line("word_count", {"path": "a.txt"}) == "word_count a.txt"


def test_catalogue_and_policy_include_the_tool(install: Install, play, owner, client) -> None:  # noqa: F811
    install(word_count=EXAMPLE.read_text())
    client.force_login(owner)
    listed = {tool["name"]: tool for tool in client.get("/api/v1/tools/").json()["results"]}
    assert (listed["word_count"]["danger"], list(listed["word_count"]["parameters"]["properties"])) == (
        "safe",
        ["path"],
    )
    ToolSetting.objects.create(name="word_count", enabled=False)
    assert not policy_for(owner.pk).allows("word_count")
    run = play(call("word_count", path="a.txt"), result())
    run.advance()
    assert run.results()[0][0] in ("blocked", "failed")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('out of order')", "RuntimeError: out of order"),
        ("import no_such_module_anywhere", "No module named"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "registers no tool"),
        (EXAMPLE.read_text().replace('"word_count"', '"shell"'), "two tools are called 'shell'"),
        (EXAMPLE.read_text().replace('"word_count"', '"word count"'), "is not a tool's name"),
        (EXAMPLE.read_text().replace('"word_count"', '"server__tool"'), "is not a tool's name"),
        (EXAMPLE.read_text().replace('"word_count"', '"other"') + "\nraise RuntimeError('half of it')\n", "half of it"),
    ],
)
def test_broken_plugin_is_reported_and_harmless(install: Install, source: str, reason: str) -> None:
    shell = registry.get("shell")
    install(broken_tool=source, word_count=EXAMPLE.read_text())
    (finding,) = operation.tool_plugins_are_loaded()
    assert (finding.obj, finding.id) == ("tool broken_tool", "agentsite.E105")
    assert reason in finding.msg
    assert finding in checks.check_tools()
    assert registry.get("word_count").name == "word_count"
    assert registry.get("shell") is shell


def test_failed_plugin_leaves_no_tools(install: Install) -> None:
    install(broken_tool=EXAMPLE.read_text() + "\nraise RuntimeError('half of it')\n")
    with pytest.raises(UnknownTool):
        registry.get("word_count")
