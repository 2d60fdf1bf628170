"""The file of AGENTSITE_CONFIG at a start: it is applied if its content is new, and mistakes stop the start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentsite.configuration import ConfigurationError, apply_at_start
from llm_app.models import Provider
from tools_app.models import ToolSetting

pytestmark = pytest.mark.django_db
ALWAYS = "tools: [{name: shell, approval: always}]\n"


@pytest.fixture
def named(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that writes the file that the environment names."""

    def named(text: str) -> Path:
        path = write(text)
        monkeypatch.setenv("AGENTSITE_CONFIG", str(path))
        return path

    return named


def test_start_without_a_file_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTSITE_CONFIG", raising=False)
    apply_at_start()
    assert not ToolSetting.objects.exists()


def test_first_start_applies_the_file(named: Callable[[str], Path]) -> None:
    named(ALWAYS)
    assert apply_at_start() == ["tool shell: created"]
    assert ToolSetting.objects.get().approval == "always"
    assert apply_at_start() == []


def test_changes_in_the_admin_survive_a_restart(named: Callable[[str], Path]) -> None:
    named(ALWAYS)
    apply_at_start()
    ToolSetting.objects.update(approval="never")
    named("# only a comment is new\n" + ALWAYS)
    apply_at_start()
    assert ToolSetting.objects.get().approval == "never"


def test_changed_and_reverted_files_are_applied(named: Callable[[str], Path]) -> None:
    for text, expected in ((ALWAYS, "always"), (ALWAYS.replace("always", "never"), "never"), (ALWAYS, "always")):
        named(text)
        apply_at_start()
        assert ToolSetting.objects.get().approval == expected


def test_changed_variable_applies_the_file_again(named: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    named("tools: [{name: shell, approval: '${APPROVAL}'}]\n")
    for value in ("always", "never"):
        monkeypatch.setenv("APPROVAL", value)
        apply_at_start()
        assert ToolSetting.objects.get().approval == value


def test_variable_can_come_from_a_secret_file(
    named: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("sk-of-a-file\n")
    monkeypatch.setenv("A_KEY_OF_OURS_FILE", str(tmp_path / "key"))
    named("providers: [{name: main, protocol: scripted, api_key: '${A_KEY_OF_OURS}'}]\n")
    apply_at_start()
    assert Provider.objects.get(name="main").api_key == "sk-of-a-file"


@pytest.mark.parametrize("text", ["tools: [{name: shell, approval: perhaps}]\n", "tools: ["])
def test_invalid_file_stops_the_start_and_changes_nothing(text: str, named: Callable[[str], Path]) -> None:
    path = named(text)
    with pytest.raises(ConfigurationError, match=str(path)):
        apply_at_start()
    assert not ToolSetting.objects.exists()


def test_missing_file_stops_the_start(named: Callable[[str], Path]) -> None:
    named(ALWAYS).unlink()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        apply_at_start()
