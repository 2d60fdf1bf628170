"""Files of projects in an S3-compatible bucket, against a fake that refuses what S3 refuses."""

import hashlib
import logging
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from agentsite import environment
from agentsite.checks import infrastructure
from llm_app import redaction
from tasks_app.models import Project
from tasks_app.services import library
from tasks_app.worker import library_index
from tests import factories

KEY, SECRET = "AKIAEXAMPLE", "s3cr3t/of+the=bucket"
# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
SIGNED = re.compile(
    rf"AWS4-HMAC-SHA256 Credential={KEY}/\d{{8}}/here-1/s3/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=[0-9a-f]{{64}}"
)


class FakeS3:
    """One bucket, by path. `down` refuses all requests."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.refused: list[str] = []
        self.down = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _why_not(self, headers: Any, path: str, body: bytes) -> tuple[int, str] | None:
        signed = SIGNED.fullmatch(headers.get("Authorization", ""))
        if self.down or not signed:
            return 403, "AccessDenied"
        if not {"host", "x-amz-content-sha256", "x-amz-date"} <= set(signed[1].split(";")):
            return 403, "AccessDenied"
        if headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return 400, "XAmzContentSHA256Mismatch"
        return None if path.startswith("/files/") else (404, "NoSuchBucket")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not self._is_refused(body):
                    fake.objects[self.path] = body
                    self._answer(200, b"", etag=body)  # API_PutObject

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                if self._is_refused(b""):
                    return
                found = fake.objects.get(self.path)
                if found is None:
                    self._error(404, "NoSuchKey")
                else:
                    self._answer(200, found, etag=found)

            def do_DELETE(self) -> None:
                if not self._is_refused(b""):
                    fake.objects.pop(self.path, None)  # API_DeleteObject: 204 also for a missing object
                    self._answer(204, b"")

            def _is_refused(self, body: bytes) -> bool:
                why_not = fake._why_not(self.headers, self.path, body)
                if why_not:
                    fake.refused.append(why_not[1])
                    self._error(*why_not)
                return bool(why_not)

            def _error(self, status: int, code: str) -> None:
                self._answer(status, f"<Error><Code>{code}</Code></Error>".encode())

            def _answer(self, status: int, body: bytes, etag: bytes | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Last-Modified", "Mon, 23 Nov 2026 12:00:00 GMT")
                if etag is not None:  # the MD5 of an object that was uploaded in one part: API_Object
                    self.send_header("ETag", f'"{hashlib.md5(etag).hexdigest()}"')
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None: ...

        return Handler


@pytest.fixture
def s3() -> Iterator[FakeS3]:
    fake = FakeS3()
    yield fake
    fake.close()


@pytest.fixture
def bucket(s3: FakeS3, settings: Any, monkeypatch: pytest.MonkeyPatch) -> FakeS3:
    """The bucket, set as this test's storage."""
    pytest.importorskip("storages", reason="`make` installs django-storages with the rest of base.txt")
    address = f"s3://{KEY}:s3cr3t%2Fof%2Bthe%3Dbucket@files/here?endpoint={s3.url}&region=here-1"
    monkeypatch.setenv("STORAGE_URL", address)
    settings.STORAGES = environment.storage_settings()
    return s3


@pytest.fixture
def project(transactional_db: None) -> Project:
    return Project.objects.create(owner=factories.UserFactory(), name="Apollo")


def test_file_is_uploaded_read_downloaded_and_deleted_without_local_copy(bucket: FakeS3, project: Project) -> None:
    upload = SimpleUploadedFile("legs.txt", b"Four legs.")
    (file,) = library.add_files(project, project.owner, [upload])
    address = f"/files/here/library/{project.pk}/{file.key}"
    assert bucket.objects == {address: b"Four legs."}
    library_index.read_due()
    file.refresh_from_db()
    assert (file.state, file.passages.get().text) == ("ready", "Four legs.")
    with file.open() as opened:
        assert opened.read() == b"Four legs."
    library.delete_file(file)
    assert (bucket.objects, bucket.refused) == ({}, [])


def test_large_file_is_not_held_in_memory_and_has_its_size(bucket: FakeS3) -> None:
    from tasks_app.workspace.downloads import download

    default_storage.save("large", SimpleUploadedFile("large", b"x" * 3_000_000))
    response = download(default_storage.open("large"), "large.bin")
    assert response["Content-Length"] == "3000000"


def test_deleting_a_project_empties_the_bucket(bucket: FakeS3, project: Project) -> None:
    uploads = [SimpleUploadedFile(name, b"x") for name in ("a.txt", "b.txt")]
    library.add_files(project, project.owner, uploads)
    project.delete()
    assert bucket.objects == {}


def test_missing_files_and_failures_raise_errors_of_file_systems(bucket: FakeS3, project: Project) -> None:
    with pytest.raises(FileNotFoundError):
        default_storage.open("library/nothing")
    bucket.down = True
    with pytest.raises(library.StorageFails, match="cannot be stored just now"):
        library.add_files(project, project.owner, [SimpleUploadedFile("a.txt", b"x")])
    assert not project.files.exists()
    with pytest.raises(OSError, match="The bucket refuses: 403") as raised:
        default_storage.exists("library/nothing")
    assert SECRET not in str(raised.value)


def test_doctor_writes_to_the_bucket_and_reports_errors(bucket: FakeS3) -> None:
    assert infrastructure.storage_works().msg == "Files of projects are kept in the bucket files."
    assert bucket.objects == {}
    bucket.down = True
    assert "cannot be kept in the bucket files: The bucket refuses" in infrastructure.storage_works().msg


def test_doctor_checks_a_folder_too() -> None:
    assert "Files of projects are kept in /" in infrastructure.storage_works().msg


def test_backup_names_the_bucket_that_it_excludes(bucket: FakeS3, transactional_db: None, tmp_path: Path) -> None:
    call_command("backup", tmp_path / "backup", stdout=(said := StringIO()))
    assert "The files of projects are in the bucket files, not in a backup" in said.getvalue()


def test_bucket_secret_is_redacted_and_not_logged(bucket: FakeS3, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    default_storage.save("a", SimpleUploadedFile("a", b"x"))
    assert SECRET not in caplog.text
    assert redaction.seen_values.redactor().redacted(f"It is {SECRET}.") == "It is [secret:server.STORAGE_URL]."


@pytest.mark.parametrize(
    "text", ["http://files", "s3://", "s3://files?endpoint=ftp://x", "s3://files?acl=public", "files"]
)
def test_invalid_address_is_reported_without_the_secret(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_URL", text)
    with pytest.raises(ImproperlyConfigured, match="STORAGE_URL is no address of a bucket"):
        environment.storage_settings()


def test_missing_packages_are_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_URL", "s3://key:secret@files")
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match="are not installed. Run: .*base.txt$") as raised:
        environment.storage_settings()
    assert "secret" not in str(raised.value)
