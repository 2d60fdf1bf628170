"""Replay: every request can be rebuilt from the record, byte for byte, and the command proves it."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from llm_app import connection_test
from llm_app.models import Blob, LLMLog, Secret
from tasks_app import services
from tasks_app.models import ContextEntry, Session
from tasks_app.replay.requests import SessionRequests
from tests import factories
from tests.provider import openai_call, openai_result, openai_text
from tests.tasks_app.engine.conftest import Run, call, result, script

SECRET = "s3cr3t-abcdefgh-1234"


def verified(*arguments: str) -> tuple[int, str]:
    """Return exit status and output of `replay … --verify`."""
    out, status = StringIO(), 0
    try:
        call_command("replay", *(arguments or ("--all",)), "--verify", stdout=out, stderr=out, no_color=True)
    except SystemExit as end:
        status = int(str(end.code))
    return status, out.getvalue()


def test_the_printed_requests_are_the_bytes_that_the_provider_received(ask_http: Any, http_provider: Any) -> None:
    http_provider.replies = [openai_call("file", {"action": "list"}), openai_text("no call"), openai_result("Ä ✓")]
    task = ask_http("Häng dich rein ☂").advance()
    out = StringIO()
    call_command("replay", str(task.pk), stdout=out, stderr=StringIO())
    assert out.getvalue().encode().splitlines() == [received.raw for received in http_provider.received]


def test_failover_and_cut_streams_leave_only_requests_that_can_be_rebuilt(ask_http: Any, http_provider: Any) -> None:
    http_provider.replies = [
        openai_call("message", {"type": "info", "text": "I beg"}, cut=True),
        openai_text("", status=500, content_type="text/plain"),
        openai_call("message", {"type": "info", "text": "Hello."}),
        openai_result(),
    ]
    assert ask_http().advance().state == "done"
    assert LLMLog.objects.filter(status="failed").count() == 2
    status, said = verified()
    assert status == 0
    assert said.startswith("4 calls rebuilt, 0 mismatches.")


def test_redacted_requests_are_rebuilt_without_the_secret(play: Callable[..., Run], owner: Any) -> None:
    run = play(call("message", type="info", text=f"the key is {SECRET}"), result(f"{SECRET} it was"))
    run.advance()
    Secret.objects.create(owner=owner, name="TOKEN", value=SECRET)
    delivered = services.post_message(run.task.session, owner, f"{SECRET}, again.\n{script(result())}")
    assert Run(delivered.task).advance().state == "done"
    assert LLMLog.objects.exclude(masked_spans=[]).exists()
    Secret.objects.all().delete()
    assert verified()[0] == 0
    newest = LLMLog.objects.order_by("created_at").last()
    assert SECRET.encode() not in SessionRequests.for_session(run.task.session).body(newest)


def test_a_secret_in_a_routes_parameters_reaches_its_provider_and_no_log(ask_http: Any, http_provider: Any) -> None:
    Secret.objects.create(name="TOKEN", value=SECRET)
    route = Session.objects.get().model.routes.get()
    route.extra_body = {"zeta": SECRET, "alpha": {"y": 1, "x": 2}}
    route.save()
    http_provider.replies = [openai_result()]
    ask_http().advance()
    assert SECRET.encode() in http_provider.received[0].raw
    log = LLMLog.objects.get()
    assert SECRET not in str(log.parameters)
    assert verified()[0] == 0


@pytest.mark.parametrize("reordered", [{"zeta": 1, "alpha": {"y": 1, "x": 2}}, {"alpha": {"x": 2, "y": 1}, "zeta": 1}])
def test_parameters_need_not_keep_their_order(ask_http: Any, http_provider: Any, reordered: dict[str, Any]) -> None:
    Session.objects.get().model.routes.update(extra_body={"zeta": 1, "alpha": {"y": 1, "x": 2}})
    http_provider.replies = [openai_result()]
    ask_http().advance()
    log = LLMLog.objects.get()
    log.parameters["extra_body"] = reordered  # as in a database that orders the keys of objects
    log.save()
    assert verified()[0] == 0


def test_a_connection_test_is_rebuilt(db: None) -> None:

    list(connection_test.check_models(factories.scripted_model("demo").routes.get().provider))
    assert LLMLog.objects.filter(purpose="test").count() == 1
    assert verified()[0] == 0


def test_a_deleted_session_is_no_mismatch(play: Callable[..., Run]) -> None:
    run = play(result())
    run.advance()
    services.delete_session(run.task.session)
    status, said = verified()
    assert status == 0
    assert "1 of deleted sessions" in said


@pytest.mark.usefixtures("tampered")
@pytest.mark.parametrize("what", ["entry", "blob", "blob gone", "parameters", "adapter_version"])
def test_a_request_that_differs_from_the_sent_one_is_named(play: Callable[..., Run], what: str) -> None:
    run = play(call("message", type="info", text="One."), result())
    run.advance()
    log = LLMLog.objects.order_by("created_at").last()
    if what == "entry":
        ContextEntry.objects.filter(context_type="user_message").update(content="Something else.")
    elif what == "blob":
        Blob.objects.filter(pk=log.system_blob).update(content="Be evil.")
    elif what == "blob gone":
        Blob.objects.filter(pk=log.tools_blob).delete()
    elif what == "parameters":
        LLMLog.objects.filter(pk=log.pk).update(parameters=log.parameters | {"max_tokens": 1})
    else:
        LLMLog.objects.filter(pk=log.pk).update(adapter_version=99)
    for which in ("--all", str(run.task.pk)):
        status, said = verified(which)
        assert status == 1
        assert str(log.pk) in said


def test_an_unknown_task_is_named() -> None:
    with pytest.raises(Exception, match="is no id of a task"):
        call_command("replay", "seven")
