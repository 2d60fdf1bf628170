"""Structured output: the model sees the schema, misfits go back to it, and the third one ends the task."""

import json

import pytest

from llm_app.models import Blob, LLMLog, Secret
from tasks_app import services
from tasks_app.models.errors import InvalidMessage, SchemaTooLate
from tests import factories
from tests.provider import Reply
from tests.tasks_app.engine.conftest import Run, call, result
from tests.tasks_app.engine.protocols import PROTOCOLS, says
from tools_app.child_process.parent import ChildLimits

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"city": {"type": "string"}, "rivers": {"type": "array", "items": {"$ref": "#/$defs/river"}}},
    "required": ["city", "rivers"],
    "additionalProperties": False,
    "$defs": {"river": {"type": "object", "properties": {"km": {"type": "integer"}}, "required": ["km"]}},
}
DATA = {"city": "Ulm", "rivers": [{"km": 2857}]}


def with_data(data: object) -> dict[str, object]:
    return call("message", type="result", text="Ulm.", data=data)


def reply(protocol: str, data: object) -> Reply:
    return says(protocol, "message", {"type": "result", "text": "Ulm.", "data": data})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fitting_data_is_accepted_in_every_protocol(owner, http_provider, protocol):
    row = factories.ProviderFactory(protocol=protocol, base_url=http_provider.base_url, timeout_s=5)
    model = factories.RouteFactory(provider=row, provider_model="m").model
    session = factories.SessionFactory(owner=owner, model=model)
    http_provider.replies = [reply(protocol, {"city": "Ulm"}), reply(protocol, DATA)]
    run = Run(services.post_message(session, owner, "Rivers of Ulm?", output_schema=SCHEMA).task)
    assert run.advance().state == "done"
    assert run.task.final_result["data"] == DATA
    (status, said), _ = run.results()
    assert status == "failed"
    assert "'rivers' is a required property" in said
    for log, received in zip(LLMLog.objects.order_by("created_at"), http_provider.received, strict=True):
        assert "km" in received.raw.decode()
        assert "<output_schema>" in Blob.objects.get(pk=log.system_blob).content
        message = next(t for t in json.loads(Blob.objects.get(pk=log.tools_blob).content) if t["name"] == "message")
        assert message["parameters"]["$defs"]["river"]["required"] == ["km"]
        assert message["parameters"]["required"] == ["type", "text", "data"]


def test_the_third_misfit_ends_the_task(play):
    run = play(with_data({}), with_data({"city": 3}), with_data(None), output_schema=SCHEMA)
    assert run.advance().failure_code == "structural_error"
    assert [status for status, _ in run.results()] == ["failed"] * 3
    assert run.types[-1] == "status_notice"


def test_without_a_schema_there_is_no_data_and_the_model_sees_no_such_argument(play):
    run = play(with_data(DATA), result())
    assert run.advance().final_result["data"] is None
    assert run.results()[0] == ("failed", "Not delivered: nobody asked for data. Say it in the text.")
    assert "program asked for" not in Blob.objects.get(pk=LLMLog.objects.first().tools_blob).content


def test_info_and_questions_need_no_data(play):
    run = play(call("message", type="info", text="One moment.", data=None), with_data(DATA), output_schema=SCHEMA)
    assert run.advance().state == "done"


def test_data_that_no_database_stores_is_made_storable(play):
    run = play(with_data("a\0b"), output_schema={"type": "string"})
    assert run.advance().final_result["data"] == "a\ufffdb"


def test_an_endless_pattern_is_a_misfit(play, monkeypatch):
    monkeypatch.setattr("tools_app.json_schema.external._LIMITS", ChildLimits(wall_s=30, cpu_s=1))
    schema = {"type": "string", "pattern": "^(a+)+$"}
    run = play(with_data("a" * 40 + "!"), with_data("aaa"), output_schema=schema)
    assert run.advance().final_result["data"] == "aaa"
    assert "could not be checked" in run.results()[0][1]


def test_the_schema_belongs_to_the_task_that_the_message_starts(play, owner):
    run = play(call("message", type="ask", text="Which one?"))
    run.advance()
    session = run.task.session
    with pytest.raises(SchemaTooLate):
        services.post_message(session, owner, "Ulm.", output_schema=SCHEMA)
    services.post_message(session, owner, "And then?", mode="queue", output_schema=SCHEMA)
    services.stop(run.task)
    run.advance()
    assert session.inbox.last().output_schema
    assert "<output_schema>" not in Blob.objects.get(pk=LLMLog.objects.first().system_blob).content


def test_a_schema_follows_its_draft(play):
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"$ref": "#/definitions/n"}],
        "additionalItems": False,
        "definitions": {"n": {"type": "integer"}},
    }
    run = play(with_data([1, 2]), with_data(["1"]), with_data([1]), output_schema=schema)
    assert run.advance().final_result["data"] == [1]
    assert "$schema" not in Blob.objects.get(pk=LLMLog.objects.first().tools_blob).content


def test_a_schema_is_stored_sanitized_and_redacted(play, owner):
    Secret.objects.create(name="KEY", value="s3cret-value-of-olga", owner=owner)
    run = play(result(), output_schema={"type": "string", "description": "\ud800 s3cret-value-of-olga"})
    assert "s3cret" not in run.task.output_schema
    assert "\ufffd" in run.task.output_schema


def test_a_queued_message_keeps_its_schema(play, owner):
    run = play(call("message", type="ask", text="Which one?"), result())
    run.advance()
    services.post_message(run.task.session, owner, "And then?", mode="queue", output_schema={"type": "integer"})
    services.reply(run.task, owner, "Ulm.")
    run.advance()
    following = run.task.session.tasks.active().get()
    assert json.loads(following.output_schema) == {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (["string"], "must be a JSON Schema"),
        ({"type": "strnig"}, "no JSON Schema: $.type"),
        ({"pattern": "("}, "no JSON Schema: $.pattern"),
        ({"$ref": "https://example.com/schema.json"}, "leads to no place"),
        ({"$ref": "#/$defs/missing"}, "leads to no place"),
        ({"properties": {"a": {"$anchor": "here"}}}, "$anchor is not supported"),
        ({"enum": ["x" * 70_000]}, "longer than 64 KiB"),
        ({"default": json.loads("[" * 70 + "]" * 70)}, "levels deep"),
        ({"default": json.loads("[" * 900 + "]" * 900)}, "nested"),
    ],
    ids=[
        "a list",
        "no type",
        "no pattern",
        "another host",
        "a dangling reference",
        "an anchor",
        "a long one",
        "a deep one",
        "a very deep one",
    ],
)
def test_an_unusable_schema_is_refused_with_the_reason(play, schema, said):
    with pytest.raises(InvalidMessage, match=said.replace("$", r"\$")) as refused:
        play(result(), output_schema=schema)
    assert refused.value.field == "output_schema"
