"""The OpenAPI schema is complete and valid, and responses match it."""

import json
import re

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

from tasks_app.api.urls import urlpatterns


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "openapi.json"
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(path))
    return json.loads(path.read_text())


def test_schema_has_every_route(described):
    paths = {path.removeprefix("/api/v1/") for path in described["paths"]}
    routes = {str(route.pattern) for route in urlpatterns}
    assert paths == {re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in routes}


def test_operations_have_unique_ids_and_a_problem_response(described):
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    for operation in operations:
        assert set(operation["responses"]["default"]["content"]) == {"application/problem+json"}
        assert {"BearerToken": []} in operation["security"]


def test_posts_that_start_work_accept_an_idempotency_key(described):
    for path, operations in described["paths"].items():
        if "post" in operations and not path.endswith(("secrets/", "links/", "{path}")):
            names = [parameter["name"] for parameter in operations["post"]["parameters"]]
            assert "Idempotency-Key" in names, path


def test_event_stream_is_described(described):
    stream = described["paths"]["/api/v1/sessions/{session_id}/events/"]["get"]
    assert set(stream["responses"]["200"]["content"]) == {"text/event-stream"}
    assert {"Last-Event-ID", "after"} <= {parameter["name"] for parameter in stream["parameters"]}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("sessions/{session}/", "Session"),
        ("sessions/", "PaginatedSessionList"),
        ("sessions/{session}/entries/", "PaginatedEntryList"),
        ("sessions/{session}/files/", "PaginatedFileList"),
        ("tasks/{task}/", "Task"),
        ("tasks/", "PaginatedTaskList"),
        ("models/", "PaginatedModelList"),
        ("tools/", "PaginatedToolList"),
        ("secrets/", "PaginatedSecretList"),
        ("usage/", "UsageReport"),
        ("nothing/", "Problem"),
    ],
)
def test_responses_match_the_schema(path, name, described, alices, approving):
    answer = alices.call("GET", path.format(session=approving.session_id, task=approving.pk)).json()
    schema = {"$ref": f"#/components/schemas/{name}", "components": _as_json_schema(described["components"])}
    Draft202012Validator(schema).validate(answer)


def test_schema_pages_are_served(described, alices):
    assert alices.get("/api/schema/", {"format": "json"}).status_code == 200
    assert alices.get("/api/docs/").status_code == 200


def _as_json_schema(node):
    """Replace `nullable` of OpenAPI 3.0 by JSON Schema's type null."""
    if isinstance(node, list):
        return [_as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _as_json_schema(value) for key, value in node.items() if key != "nullable"}
    return {"anyOf": [inner, {"type": "null"}]} if node.get("nullable") is True else inner
