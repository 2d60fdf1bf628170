"""API clients with tokens, and tasks that wait for a person."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from agentsite.accounts.models import ApiToken
from llm_app.types import ToolCall
from tasks_app.models import Approval, ContextType, Task, ToolCallLog
from tasks_app.record import Draft
from tests import factories


class Program(APIClient):
    """An API client that sends JSON to paths below /api/v1/. Without a user it sends no token."""

    def __init__(self, user: Any = None) -> None:
        super().__init__(raise_request_exception=False)
        if user is not None:
            _, token = ApiToken.objects.create(user)
            self.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return self.generic(
            method,
            f"/api/v1/{path}",
            b"" if body is None else json.dumps(body),
            content_type="application/json",
            headers=headers,
        )


@pytest.fixture
def program(db: None) -> type[Program]:
    return Program


@pytest.fixture
def alices(session: Any, alice: Any) -> Program:
    """Return alice's client."""
    return Program(alice)


@pytest.fixture
def task(session: Any) -> Task:
    """Return a task in a running state, without a worker."""
    running: Task = factories.TaskFactory(session=session, state="thinking")
    factories.append(running, Draft(context_type=ContextType.USER_MESSAGE, content="Please."))
    return running


@pytest.fixture
def asking(task: Task) -> Task:
    """Return a task that waits for the answer to its question."""
    arguments = {"type": "ask", "text": "Which colour?", "options": ["red", "blue"]}
    return _waiting(task, "reply", "message", arguments, ContextType.AI_MESSAGE)


@pytest.fixture
def approving(task: Task) -> Task:
    """Return a task that waits for the approval of a dangerous call."""
    waiting = _waiting(task, "approval", "shell", {"command": "rm -rf build"}, ContextType.TOOL_CALL)
    log = ToolCallLog.objects.get(task=task)
    Approval.objects.create(tool_call=log, fingerprint=log.fingerprint, reason="deletes a folder")
    return waiting


def _waiting(task: Task, waiting_for: str, tool: str, arguments: dict[str, Any], context_type: ContextType) -> Task:
    text = json.dumps(arguments)
    call = ToolCall(id="call_1", name=tool, arguments=text)
    factories.append(task, Draft(context_type=context_type, tool_call=call))
    ToolCallLog.objects.create(
        task=task,
        session_id=task.session_id,
        call_id=call.id,
        name=tool,
        arguments=text,
        fingerprint="f" * 64,
        danger="dangerous" if waiting_for == "approval" else "safe",
        status="pending" if waiting_for == "approval" else "waiting",
    )
    task.state, task.waiting_for = "executing_tool", waiting_for
    task.save(update_fields=["state", "waiting_for"])
    return task
