"""Requests that Django refuses to parse: the response says what to send instead, and the log has one short line."""

import logging
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tasks_app.models import Project

pytestmark = pytest.mark.django_db
FILES = "at most 100 files can be sent at once"
FIELDS = "a form may have at most 1,000 fields"
BYTES = "At most 4 MiB can be sent at once"


def many_files() -> dict[str, Any]:
    return {"files": [SimpleUploadedFile(f"{number}.txt", b"x") for number in range(101)]}


def many_fields() -> dict[str, Any]:
    return {f"f{number}": "x" for number in range(1001)}


def many_bytes() -> dict[str, Any]:
    return {"content": "x" * (4 * 1024**2 + 1)}


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [(many_files, 400, FILES), (many_fields, 400, FIELDS), (many_bytes, 413, BYTES)],
    ids=["files", "fields", "bytes"],
)
def test_oversized_request_is_told_the_limit(
    client: Client, caplog: pytest.LogCaptureFixture, form: Any, status: int, sentence: str
) -> None:
    answer = client.post("/accounts/login/", form())
    assert (answer.status_code, sentence in answer.content.decode()) == (status, True)
    (record,) = (record for record in caplog.records if record.name.startswith("django"))
    assert record.exc_info is None


def test_rest_api_reports_the_same(browser: Client, root: Any) -> None:
    project = Project.objects.create(owner=root, name="p")
    answer = browser.post(f"/api/v1/projects/{project.pk}/library/", many_files())
    assert (answer.status_code, FILES in answer.json()["detail"]) == (400, True)


def test_long_paths_are_shortened_in_the_log(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    assert client.get(f"/{'x' * 12_000}").status_code == 404
    assert client.get("/nothing-here").status_code == 404
    long, short = (record for record in caplog.records if record.name == "django.request")
    assert len(long.getMessage()) < 500
    assert short.getMessage() == "Not Found: /nothing-here"
    assert long.levelno == logging.WARNING
