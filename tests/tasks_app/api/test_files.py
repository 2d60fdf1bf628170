"""Listing, download and upload of a workspace's files."""

import asyncio
import os
import tracemalloc
import unicodedata
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.test import AsyncClient
from hypothesis import given
from hypothesis import strategies as st

from agentsite.accounts.models import ApiToken
from tasks_app.api.files import files_after
from tasks_app.pages.file_tree import tree_of
from tasks_app.workspace import file_history, uploads
from tasks_app.workspace.downloads import Chunks, _content_type
from tasks_app.workspace.folders import workspace_of
from tools_app.files import Workspace


@pytest.fixture
def workspace(session):
    return workspace_of(session)


@pytest.fixture
def base(session):
    return f"/api/v1/sessions/{session.pk}/files/"


@pytest.fixture
def fetch(alice, base):
    """Return a function that requests a file through the asynchronous handler and returns the response and its body."""
    _, token = ApiToken.objects.create(alice)

    def get(path):
        async def whole():
            answer = await AsyncClient().get(base + path, headers={"Authorization": f"Bearer {token}"})
            if not answer.streaming:
                return answer, answer.content
            body = b"".join([chunk async for chunk in answer])
            answer.close()
            return answer, body

        return asyncio.run(whole())

    return get


def body_of(answer):
    async def whole():
        return b"".join([chunk async for chunk in answer])

    return asyncio.run(whole())


# --- listing ----------------------------------------------------------------------------------------------------------


def test_files_are_listed_in_the_order_of_their_paths(alices, base, workspace):
    for path, data in (("b.txt", b"123"), ("a/z.txt", b""), ("a/b/c.txt", b"1"), ("a.txt", b"12"), (".hidden/x", b"")):
        workspace.write_bytes(path, data)
    (workspace.root / "link").symlink_to("/etc/passwd")
    page = alices.get(base).json()
    assert (page["next"], page["previous"]) == (None, None)
    assert [(file["path"], file["size"]) for file in page["results"]] == [
        (".hidden/x", 0),
        ("a/b/c.txt", 1),
        ("a/z.txt", 0),
        ("a.txt", 2),
        ("b.txt", 3),
    ]


def test_unused_workspace_is_empty(alices, base):
    assert alices.get(base).json()["results"] == []


def test_listed_names_can_be_requested(alices, base, workspace, session):
    """The next page starts after a name that contains escapes."""
    names = [b"\xff.txt", b"line\n.txt", "narrow\u202fspace.txt".encode(), "u\u0308ber.txt".encode()]
    folder = bytes(workspace.make_root()) + b"/in \xfe\t/"
    os.mkdir(folder)
    for name in names:
        with open(folder + name, "wb") as file:
            file.write(name)
    listed, address = [], f"{base}?limit=1"
    while address:
        page = alices.get(address).json()
        listed += [file["path"] for file in page["results"]]
        address = page["next"]
    escaped = ["\\udcff.txt", "line\\n.txt", "narrow\u202fspace.txt", "u\u0308ber.txt"]
    assert listed == [f"in \\udcfe\\t/{name}" for name in escaped]
    assert [body_of(alices.get(base + quote(path))) for path in listed] == names
    [node] = tree_of(session).top.nodes
    assert sorted(child.path for child in node.inside.nodes) == sorted(listed)
    assert body_of(alices.get(base + quote("in \ufffd /über.txt"))) == names[-1]


def test_upload_replaces_the_named_file(alices, base, workspace):
    decomposed = unicodedata.normalize("NFD", "Übersicht für März.txt")
    for path, text in ((decomposed, b"one"), ("Übersicht für März.txt", b"two")):
        answer = alices.post(f"{base}{quote(path)}", text, content_type="application/octet-stream")
        assert (answer.status_code, answer.json()["path"]) == (201, decomposed)
    assert [path.read_bytes() for path in workspace.root.iterdir()] == [b"two"]


def test_files_of_any_name_have_versions(alices, base, workspace, session):
    path, escaped = bytes(workspace.make_root()) + b"/\xff\n.txt", "\\udcff\\n.txt"
    file_history.record(session, workspace)
    with open(path, "wb") as file:
        file.write(b"kept")
    file_history.record(session, workspace)
    os.unlink(path)
    change = file_history.record(session, workspace)
    versions = alices.get(f"/api/v1/sessions/{session.pk}/versions/?path={quote(escaped)}")
    (version,) = versions.json()["results"]
    assert version["path"] == escaped
    undone = alices.post(f"/api/v1/changes/{change.pk}/undo/", {"paths": [escaped]}, format="json").json()
    assert (undone["paths"][0]["path"], undone["left"]) == (escaped, [])
    with open(path, "rb") as file:
        assert file.read() == b"kept"


def test_long_list_is_paged(alices, base, workspace):
    paths = [f"{folder}/{name}" for folder in "abc" for name in ("1", "2", "sub/1")]
    for path in paths:
        workspace.write_bytes(path, b"")
    seen, address = [], base + "?limit=2"
    while address:
        page = alices.get(address).json()
        seen += [file["path"] for file in page["results"]]
        address = page["next"]
    assert seen == sorted(paths, key=lambda path: path.split("/"))


names = st.text("ab.", min_size=1, max_size=2).filter(lambda name: name.strip("."))


@given(paths=st.lists(st.lists(names, min_size=1, max_size=3), max_size=8), after=st.lists(names, max_size=3))
def test_files_after_a_path_are_those_that_sort_after_it(paths, after, tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("tree"))
    for path in paths:
        place = workspace.root.joinpath(*path)
        if not place.exists() and not any(parent.is_file() for parent in place.parents):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    places = [file.relative_to(workspace.root).parts for file in workspace.root.rglob("*") if file.is_file()]
    expected = ["/".join(place) for place in sorted(places) if place > tuple(after)]
    assert [path for path, _ in files_after(workspace, tuple(after))] == expected


# --- download ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_download_is_exact_and_cannot_run_scripts(fetch, workspace):
    data = bytes(range(256)) * 4096
    workspace.write_bytes("folder/page 1.html", data)
    answer, body = fetch("folder/page%201.html")
    assert (answer.status_code, body, answer["Content-Length"]) == (200, data, str(len(data)))
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="page 1.html"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["missing.txt", "folder", "a/../../x", "link", "folder/", "x" * 300, "%00", "."])
def test_paths_without_a_readable_file_are_404(path, fetch, workspace):
    workspace.write_bytes("folder/a.txt", b"x")
    (workspace.root / "link").symlink_to("/etc/passwd")
    answer, body = fetch(path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert b"root:" not in body


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("a.png", "image/png"),
        ("a.pdf", "application/pdf"),
        ("a.mp4", "video/mp4"),
        ("a.md", "text/plain; charset=utf-8"),
        ("a.html", "text/plain; charset=utf-8"),
        ("a.js", "text/plain; charset=utf-8"),
        ("a.svg", "application/octet-stream"),
        ("a.xhtml", "application/octet-stream"),
        ("a.csv.gz", "application/octet-stream"),
        ("Makefile", "application/octet-stream"),
    ],
)
def test_active_content_types_are_not_sent(name, content_type):
    assert _content_type(name) == content_type


async def test_growing_file_is_sent_with_its_initial_length(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"first")
    chunks = Chunks(path.open("rb"))
    path.write_bytes(b"first and more")
    assert b"".join([chunk async for chunk in chunks]) == b"first"
    chunks.close()


# --- upload -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    ["application/octet-stream", "text/csv", "application/json", "application/x-www-form-urlencoded", ""],
)
def test_raw_body_is_the_file_whatever_its_type(content_type, alices, base, workspace):
    data = b'\xff\x00{"a=b&c'
    answer = alices.generic("POST", base + "in/data.bin", data, content_type=content_type)
    assert (answer.status_code, answer.json()) == (201, {"path": "in/data.bin", "size": len(data)})
    assert workspace.read_bytes("in/data.bin") == data


def test_form_uploads_one_file(alices, base, workspace):
    form = {"file": SimpleUploadedFile("other-name.txt", b"hello")}
    assert alices.post(base + "notes.txt", form, format="multipart").status_code == 201
    assert workspace.read_bytes("notes.txt") == b"hello"


@pytest.mark.parametrize("form", [{"text": "no file"}, {"a": b"1", "b": b"2"}])
def test_form_without_exactly_one_file_is_422(form, alices, base, workspace):
    files = {name: SimpleUploadedFile(name, data) if isinstance(data, bytes) else data for name, data in form.items()}
    assert alices.post(base + "notes.txt", files, format="multipart").status_code == 422
    assert not workspace.is_file("notes.txt")


def test_empty_file_is_accepted(alices, base, workspace):
    assert alices.generic("POST", base + "empty", b"", CONTENT_LENGTH="").status_code == 201
    assert workspace.read_bytes("empty") == b""


def test_upload_replaces_a_file(alices, base, workspace):
    workspace.write_bytes("notes.txt", b"old and longer")
    alices.generic("POST", base + "notes.txt", b"new")
    assert workspace.read_bytes("notes.txt") == b"new"


def test_file_over_the_limit_is_413(alices, base, workspace, monkeypatch):
    from tasks_app.api import files

    monkeypatch.setattr(files, "MAX_BYTES", 100)
    assert alices.generic("POST", base + "a", b"x" * 101).status_code == 413
    assert alices.post(base + "a", {"file": SimpleUploadedFile("a", b"x" * 101)}, format="multipart").status_code == 413
    assert alices.generic("POST", base + "a", b"", CONTENT_LENGTH="100000").status_code == 413
    assert not workspace.is_file("a")


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "folder", "%00", "x" * 300])
def test_invalid_path_is_422_and_writes_nothing(path, alices, base, workspace):
    workspace.write_bytes("folder/a.txt", b"")
    answer = alices.generic("POST", base + path, b"x")
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["path"])


def test_browser_can_upload_with_cookie_and_csrf(session, alice, base, workspace):
    from rest_framework.test import APIClient

    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(alice)
    browser.cookies["csrftoken"] = "a" * 32
    for content_type in ("text/plain", "application/x-www-form-urlencoded"):
        assert browser.generic("POST", base + "a", b"x=1", content_type=content_type).status_code == 403
        sent = browser.generic("POST", base + "a", b"x=1", content_type, headers={"X-CSRFToken": "a" * 32})
        assert sent.status_code == 201
    assert workspace.read_bytes("a") == b"x=1"


def test_upload_is_never_entirely_in_memory(alices, session):
    upload = TemporaryUploadedFile("big", "application/octet-stream", 20_000_000, None)
    upload.truncate(20_000_000)
    tracemalloc.start()
    uploads.replace(session, "big", upload)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert workspace_of(session).entries()[0].size == 20_000_000
    assert most < 5_000_000
