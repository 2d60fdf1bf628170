"""Tests that docs/extending.md shows the hook, the reminder and the skill verbatim, and that each works as
described.
"""

import asyncio
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from tasks_app.models import Limits, Task
from tasks_app.run.reminders import before_step
from tests.extending.hook import NoMail
from tests.extending.reminder import LONG_TASK, long_task
from tests.server import ROOT
from tools_app.hooks import base
from tools_app.hooks.loading import plugins
from tools_app.skills.skill_files import installed_skills, refused_skills

FOLDER = Path(__file__).parent
_EXAMPLE = re.compile(r"`(tests/extending/[\w/.-]+)`:\n\n```\w+\n(.*?)```\n", re.DOTALL)


def examples() -> dict[str, str]:
    """Return the text that the document shows of each file."""
    return dict(_EXAMPLE.findall((ROOT / "docs" / "extending.md").read_text()))


def test_document_shows_each_file_verbatim() -> None:
    shown = examples()
    assert shown
    for path, text in shown.items():
        assert (ROOT / path).read_text() == text, path
    assert {"hook.py", "reminder.py", "SKILL.md"} <= {Path(path).name for path in shown}


@pytest.mark.parametrize(("command", "refused"), [("sendmail ada < draft.txt", True), ("ls", False)])
def test_the_hook_refuses_mail(command: str, refused: bool) -> None:
    (hook,) = plugins(("tests.extending.hook.NoMail",))
    assert isinstance(hook, NoMail)
    call = base.Call(tool="shell", arguments={"command": command}, danger="moderate")
    verdict = asyncio.run(base.run_hook(hook, "before_execution", call, Mock(spec=base.HookContext)))
    assert isinstance(verdict, base.Refuse) is refused


def test_long_task_gets_one_reminder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(before_step, "_REMINDERS", (long_task,))

    def said(**fields: object) -> list[str]:
        step = before_step.StepState(task=Task(**fields), limits=Limits())
        return [draft.content for draft in before_step.due(step)]

    assert said(iteration=LONG_TASK - 1) == []
    assert "30 steps" in said(iteration=LONG_TASK)[0]
    assert said(iteration=LONG_TASK, reminded={"long_task": 30}) == []


def test_skill_is_loaded_from_its_folder() -> None:
    folder = FOLDER / "skills"
    assert "release-notes" in installed_skills(folder)
    assert refused_skills(folder) == {}
