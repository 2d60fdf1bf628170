"""Test clients of alice, bob, carol and charlie, and sessions with entries."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from llm_app.types import Thinking, ToolCall
from tasks_app.models import ContextEntry, ContextType, Task, ToolCallLog
from tasks_app.record import Draft
from tasks_app.record.draft import result
from tests import factories
from tests.tasks_app.api.conftest import approving, asking, task

__all__ = ["approving", "asking", "task"]


class Browser(Client):
    """A user's test client. `htmx` posts as the page's scripts do."""

    def __init__(self, user: Any = None) -> None:
        super().__init__()
        if user is not None:
            self.force_login(user)

    def page(self, address: Any) -> str:
        response = self.get(str(address))
        assert response.status_code == 200, response
        return response.content.decode()

    def confirm(self, next_page: str = "/settings/") -> Any:
        """Enter the password again, as required before dangerous actions."""
        return self.post("/accounts/reauthenticate/", {"password": "a password", "next": next_page})

    def htmx(self, address: str, data: Any = None) -> Any:
        return self.post(address, data or {}, headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/"})


@pytest.fixture
def browser(db: None) -> type[Browser]:
    return Browser


@pytest.fixture
def alices(alice: Any) -> Browser:
    return Browser(alice)


@pytest.fixture
def recorded(task: Task) -> Callable[..., ContextEntry]:
    """Return a function that appends an entry of any type to alice's session."""

    def append(context_type: str, content: str = "", **fields: Any) -> ContextEntry:
        if thought := fields.pop("thought", ""):
            fields["thinking"] = Thinking(text=thought)
        draft = Draft(context_type=ContextType(context_type), content=content, **fields)
        return factories.append(task, draft)[0]

    return append


@pytest.fixture
def called(task: Task) -> Callable[..., list[ContextEntry]]:
    """Return a function that appends a call, and its result unless it is still running."""
    numbers = iter(range(1000))

    def append(name: str, arguments: str, outcome: str = "", status: str = "succeeded", **more: Any) -> Any:
        call = ToolCall(id=f"call_{next(numbers)}", name=name, arguments=arguments)
        kind = ContextType.AI_MESSAGE if name == "message" else ContextType.TOOL_CALL
        log = {"duration_ms": more.pop("duration_ms", 12), "fingerprint": "f"}
        ToolCallLog.objects.create(
            task=task, session_id=task.session_id, call_id=call.id, name=name, status=status, **log
        )
        drafts = [Draft(context_type=kind, tool_call=call, content=more.pop("content", ""))]
        if status not in ("started", "waiting"):
            drafts.append(result(call.id, outcome, status, **more))
        return list(factories.append(task, *drafts))

    return append
