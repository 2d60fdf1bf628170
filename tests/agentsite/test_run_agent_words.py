"""`run_agent` prints the text of a reply above its calls."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from tests import factories
from tests.tasks_app.engine.conftest import call, result, script

Ask = Callable[..., str]


@pytest.fixture
def run(transactional_db: None, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that plays the replies and returns the output."""
    factories.UserFactory(username="olga")
    model = factories.scripted_model("script")

    def start(*replies: Any) -> str:
        call_command("run_agent", script(*replies), "--user", "olga", "--model", model.name)
        return capsys.readouterr().out

    return start


def test_text_is_printed_with_messages_and_the_result(run: Ask) -> None:
    info = {**call("message", type="info", text="Now I count."), "content": "I have looked."}
    assert run(info, {**result("All said above."), "content": "It is 42."}) == (
        "I have looked.\n\nNow I count.\nIt is 42.\n\nAll said above.\n"
    )


def test_text_is_not_printed_twice(run: Ask) -> None:
    assert run({**result("It is 42."), "content": "It is 42."}) == "It is 42.\n"


def test_text_is_printed_with_other_calls(run: Ask) -> None:
    listed = {**call("file", action="list", path="."), "content": "I look around."}
    assert run(listed, result("Nothing.")).startswith("I look around.\n· file ")
