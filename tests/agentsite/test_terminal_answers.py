"""Approvals in the terminal, also of calls that another user must approve."""

import pytest

from agentsite.terminal.run import answer
from tasks_app.models import Approval
from tests.tasks_app.api.conftest import approving, task
from tools_app.models import ToolSetting

__all__ = ["approving", "task"]


@pytest.mark.parametrize(("said", "decision"), [("y", "approved"), ("", "rejected")])
def test_person_at_the_terminal_decides(said, decision, alice, approving):
    answer(approving, alice, lambda question: said)
    assert Approval.objects.get().decision == decision


@pytest.mark.parametrize("ask", [None, lambda question: "y"], ids=["nobody", "the person who started it"])
def test_four_eyes_call_is_rejected(ask, alice, approving):
    ToolSetting.objects.create(name="shell", four_eyes=True)
    answer(approving, alice, ask)
    assert Approval.objects.get().decision == "rejected"
