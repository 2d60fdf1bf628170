"""Errors are problem documents without tracebacks."""

import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from tasks_app import services

JSON = "application/json"
DEEP = b"[" * 900 + b"]" * 900


def check(answer, status):
    problem = answer.json()
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert (problem["status"], problem["type"]) == (status, "about:blank")
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"{'a': 1}", b'{"a": NaN}', b"\xff\xfe", b'"\\ud800"', b"[" * 100_000, b'{"title": "a"} x', DEEP],
)
def test_unreadable_body_is_400(body, alices):
    answer = alices.post("/api/v1/secrets/", body, content_type=JSON)
    check(answer, 400 if body else 422)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
def test_other_content_types_are_415(content_type, alices):
    check(alices.generic("POST", "/api/v1/sessions/", b"title=a", content_type=content_type), 415)


def test_unsupported_method_is_405(alices, session, task):
    for method, path in [("PUT", f"sessions/{session.pk}/"), ("DELETE", "tasks/"), ("GET", f"tasks/{task.pk}/stop/")]:
        answer = alices.call(method, path)
        check(answer, 405)
        assert answer["Allow"]


def test_body_over_the_limit_is_413(alices, session, settings):
    settings.JSON_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = {"content": "x" * 1000}
    check(alices.call("POST", f"sessions/{session.pk}/messages/", body), 413)
    check(alices.call("POST", f"sessions/{session.pk}/messages/", body, **{"Idempotency-Key": "k"}), 413)


def test_json_over_a_mebibyte_is_413_with_advice(alices):
    answer = alices.call("POST", "sessions/", {"title": "x" * 1024**2})
    assert check(answer, 413)["detail"].startswith("At most 1 MiB can be sent at once. ")


@pytest.mark.parametrize(
    "path",
    [
        "sessions/?q=%00",
        "sessions/?q=" + "x" * 501,
        "tasks/?session=1",
        "tasks/?state=asleep",
        "sessions/{session}/entries/?after=-1",
        "sessions/{session}/entries/?after=x",
        "sessions/{session}/entries/?after=99999999999999999999",
        "sessions/{session}/events/?after=x",
        "sessions/{session}/files/?limit=0",
        "sessions/{session}/versions/?path=%00",
    ],
)
def test_invalid_query_is_422(path, alices, session):
    assert check(alices.call("GET", path.format(session=session.pk)), 422)["errors"]


BEFORE_ALL_NUMBERS = "cD0tOTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk%3D"
AFTER_ALL_TIMES = "cD05OTk5LTEyLTMxVDIzOjU5OjU5LTIzOjU5"


@pytest.mark.parametrize(
    "cursor", ["x", "cD1hYmM=", "cD0lMDA=", "bz0tMQ==", "%00", BEFORE_ALL_NUMBERS, AFTER_ALL_TIMES]
)
def test_invented_cursor_is_404(cursor, alices, session):
    for path in ("sessions/?cursor=", f"sessions/{session.pk}/entries/?cursor="):
        assert alices.call("GET", path + cursor).status_code in (200, 404)


def test_all_invalid_fields_are_named(alices):
    problem = check(alices.call("POST", "sessions/", {"title": "x" * 201, "model": "nowhere"}), 422)
    assert set(problem["errors"]) == {"title", "model"}
    assert problem["errors"]["model"] == ["There is no model called nowhere. GET models/ lists them."]


def test_server_error_is_500_with_the_traceback_in_the_log_only(alices, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(services, "create_session", fail)
    with caplog.at_level(logging.ERROR):
        answer = alices.call("POST", "sessions/", {})
    assert "secret" not in str(check(answer, 500))
    assert "the secret inside" in caplog.text


def test_session_deleted_during_the_request_is_404(alices, session, monkeypatch):
    post = services.post_message

    def delete_first(found, *args, **kwargs):
        services.delete_session(found.__class__.objects.get(pk=found.pk))
        return post(found, *args, **kwargs)

    monkeypatch.setattr(services, "post_message", delete_first)
    check(alices.call("POST", f"sessions/{session.pk}/messages/", {"content": "x"}), 404)


def test_missing_slash_is_named(alices):
    assert "slash" in check(alices.call("POST", "sessions", {}), 404)["detail"]


def test_unknown_addresses_outside_v1_are_problems(alices):
    check(alices.get("/api/v2/sessions/"), 404)


def test_any_accept_header_gets_json(alices):
    for accept in ("*/*", "application/json", "text/html, */*"):
        assert alices.call("GET", "sessions/", Accept=accept)["Content-Type"] == JSON


def test_anonymous_requests_learn_how_to_sign_in(db):
    answer = APIClient().get("/api/v1/sessions/")
    assert answer["WWW-Authenticate"] == "Bearer"
    check(answer, 401)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("content", "mode", "attachments", "workflow", "title", "model", "decision", "note", "scope", "name", "value")


@given(
    body=ANYTHING | st.dictionaries(st.sampled_from(NAMES), ANYTHING | st.sampled_from(["approve", "task", "queue"])),
    path=st.sampled_from(["sessions/", "secrets/", "{s}/messages/", "{t}/reply/", "{t}/approval/", "{t}/stop/"]),
    key=st.none() | st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=8),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_body_causes_a_server_error(body, path, key, alices, asking):
    path = path.format(s=f"sessions/{asking.session_id}", t=f"tasks/{asking.pk}")
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = alices.generic("POST", f"/api/v1/{path}", json.dumps(body), JSON, headers=headers)
    assert answer.status_code in (200, 201, 202, 400, 409, 422), answer.content
    assert answer["Content-Type"] == (JSON if answer.status_code < 400 else "application/problem+json")


@given(
    query=st.text(),
    path=st.sampled_from(["sessions/?q=", "tasks/?session=", "{s}/entries/?after=", "{s}/files/?after="]),
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_query_causes_a_server_error(query, path, alices, session):
    address = path.format(s=f"sessions/{session.pk}") + quote(query, errors="surrogatepass")
    assert alices.get(f"/api/v1/{address}").status_code in (200, 422)


@pytest.mark.parametrize("name", ["a\0b", 5, [], {"a": 1}])
@pytest.mark.parametrize("path", ["sessions/", "projects/", "sessions/{session}/messages/"])
def test_invalid_agent_or_workflow_name_is_422(path, name, alices, session):
    body = {"name": "Apollo", "content": "Hi", "agent": name, "workflow": name}
    check(alices.call("POST", path.format(session=session.pk), body), 422)


@pytest.mark.parametrize("field", ["project", "agent", "tags", "title"])
def test_too_deeply_nested_fields_are_400(field, alices, session):
    body = b'{"%s": %s}' % (field.encode(), DEEP)
    check(alices.generic("PATCH", f"/api/v1/sessions/{session.pk}/", body, JSON), 400)
