"""Uploads and downloads of workspace files through the page."""

import os

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient

from tasks_app.workspace import file_history, uploads
from tasks_app.workspace.folders import workspace_of


@pytest.fixture
def workspace(session):
    return workspace_of(session)


@pytest.fixture
def put(alices, session):
    def upload(*files):
        return alices.htmx(
            f"{session.get_absolute_url()}files/", {"files": [SimpleUploadedFile(name, data) for name, data in files]}
        )

    return upload


@pytest.fixture
def get(session, alice):
    async def download(path, user=alice):
        client = AsyncClient()
        await client.aforce_login(user)
        response = await client.get(f"{session.get_absolute_url()}files/{path}")
        if response.status_code == 200:
            response.body = b"".join([chunk async for chunk in response.streaming_content])
        return response

    return download


def test_upload_is_shown_in_the_panel(put, workspace):
    response = put(("notes.txt", b"hello"))
    assert "notes.txt" in response.content.decode()
    assert workspace.read_bytes("notes.txt") == b"hello"


def test_upload_overwrites_nothing(put, workspace):
    for content in (b"1", b"2", b"3"):
        put(("a.tar", content))
    assert [workspace.read_bytes(name) for name in ("a.tar", "a-2.tar", "a-3.tar")] == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\plan.doc", "plan.doc"),
        (".bashrc", "bashrc"),
        ("a\nb\x07.txt", "a_b_.txt"),
        ("\u202egpj.exe", "_gpj.exe"),
        ("x" * 300 + ".txt", "x" * 116 + ".txt"),
        ("日本.txt", "日本.txt"),
    ],
)
def test_file_name_is_made_safe(given, kept, session, workspace):
    file = SimpleUploadedFile("placeholder", b"x")
    file._name = given  # as a browser may send it
    assert uploads.store(session, [file]) == [kept]
    assert workspace.is_file(kept)


def test_large_file_is_refused_and_not_stored(put, workspace, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 10)
    response = put(("small.txt", b"x"), ("large.txt", b"x" * 11))
    assert response.status_code == 413
    assert "50 MB" in response.content.decode()
    assert not workspace.is_file("small.txt")


@pytest.mark.django_db(transaction=True)
async def test_download_is_an_attachment(get, workspace):
    workspace.write_bytes("page one.html", b"<script>alert(1)</script>")
    response = await get("page%20one.html")
    assert response.body == b"<script>alert(1)</script>"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="page one.html"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["Content-Length"] == "25"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.png", "image/png"), ("b.JPG", "image/jpeg"), ("c.webp", "image/webp"), ("d.svg", None), ("e.exe", None)],
)
async def test_only_safe_pictures_are_shown_inline(name, kind, get, workspace):
    workspace.write_bytes(name, b"x")
    response = await get(name)
    assert response["Content-Type"] == (kind or "application/octet-stream")
    assert response["Content-Disposition"].startswith("inline" if kind else "attachment")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["missing", "../../keys/secret_key", "%2e%2e/%2e%2e/x", "folder", "link", "a%00b"])
async def test_paths_outside_the_workspace_are_404(path, get, workspace, tmp_path):
    workspace.write_bytes("folder/x", b"x")
    (tmp_path / "outside").write_text("secret")
    os.symlink(tmp_path / "outside", workspace.root / "link")
    assert (await get(path)).status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_other_users_get_404(get, workspace, charlie, bob):
    workspace.write_bytes("a.txt", b"x")
    assert (await get("a.txt", bob)).body == b"x"
    assert (await get("a.txt", charlie)).status_code == 404


def test_file_is_deleted_after_a_confirmation(alices, session, workspace):
    workspace.write_bytes("a b.txt", b"x")
    address = f"{session.get_absolute_url()}files/delete/?path=a%20b.txt"
    assert "Delete a b.txt?" in alices.page(address)
    assert alices.post(address)["Location"] == session.get_absolute_url()
    assert not workspace.is_file("a b.txt")


@pytest.mark.parametrize("path", ["", ".", "../x", "missing"])
def test_refused_deletion_reports_the_reason(path, alices, session, workspace):
    response = alices.htmx(f"{session.get_absolute_url()}files/delete/?path={path}")
    assert response.status_code == 409
    assert 'id="files"' in response.content.decode()
    assert workspace.make_root().is_dir()


def test_tree_shows_folders_first_without_hidden_files(alices, session, workspace):
    for path in ("z.txt", "deep/er/est.txt", ".results/secret.txt", "a<b>.txt"):
        workspace.write_bytes(path, b"x")
    page = alices.page(f"{session.get_absolute_url()}?files")
    assert page.index(">deep<") < page.index(">z.txt<")
    assert "est.txt" in page
    assert "secret.txt" not in page
    assert "a&lt;b&gt;.txt" in page


HTMX = {"HX-Request": "true"}


def inside(browser, session, folder):
    """Return the fragment of an opened folder."""
    return browser.get(f"{session.get_absolute_url()}files/?folder={folder}", headers=HTMX).content.decode()


def test_folder_contents_are_fetched_when_opened(alices, session, workspace):
    workspace.write_bytes("deep/er/est.txt", b"x")
    workspace.write_bytes("deep/one.txt", b"x")
    page = alices.page(session.get_absolute_url())
    assert 'hx-get="files/?folder=deep"' in page
    assert "one.txt" not in page
    opened = inside(alices, session, "deep")
    assert 'href="view/deep/one.txt"' in opened
    assert 'hx-get="files/?folder=deep%2Fer"' in opened
    assert "est.txt" not in opened
    assert "est.txt" in inside(alices, session, "deep%2Fer")
    whole = alices.get(f"{session.get_absolute_url()}files/", headers=HTMX).content.decode()
    assert 'href="view/deep/er/est.txt"' in whole
    assert "<html" not in whole + opened


def test_folder_opens_without_scripts(alices, session, workspace):
    for name in ("one", "two"):
        workspace.write_bytes(f"node_modules/{name}/index.js", b"x")
    address = alices.get(f"{session.get_absolute_url()}files/?folder=node_modules%2Fone").headers["Location"]
    page = alices.page(address.partition("#")[0])
    assert 'id="folder-node_modules/one" open>' in page
    assert 'href="view/node_modules/one/index.js"' in page
    assert 'href="view/node_modules/two/index.js"' not in page


def test_only_a_folder_that_was_read_is_shown_as_empty(alices, session, workspace, monkeypatch):
    monkeypatch.setattr("tasks_app.pages.file_tree.MOST_FOLDERS", 2)
    for path in ("a/b/c/d.txt", "z/y.txt"):
        workspace.write_bytes(path, b"x")
    (workspace.root / "nothing").mkdir()
    page = alices.page(f"{session.get_absolute_url()}?files")
    assert ">empty<" not in page
    assert 'hx-get="files/?folder=z"' in page
    assert ">empty<" in inside(alices, session, "nothing")
    for path in ("gone", "..%2F..", "a%2Fb%2Fc%2Fd.txt"):
        assert "This folder is gone, or cannot be opened." in inside(alices, session, path)


def test_ignored_folders_come_last_and_do_not_count(alices, session, workspace, monkeypatch):
    monkeypatch.setattr("tasks_app.pages.file_tree.MOST_FOLDERS", 5)
    for number in range(9):
        workspace.write_bytes(f"node_modules/{number}/index.js", b"x")
        workspace.write_bytes(f"__pycache__/{number}.pyc", b"x")
    workspace.write_bytes("src/inner/main.py", b"x")
    workspace.write_bytes("z.txt", b"x")
    page = alices.page(f"{session.get_absolute_url()}?files")
    names = [">src<", ">z.txt<", ">__pycache__<", ">node_modules<"]
    assert [page.index(name) for name in names] == sorted(page.index(name) for name in names)
    assert ("main.py" in page, "index.js" in page, ".pyc" in page) == (True, False, False)
    assert "index.js" in inside(alices, session, "node_modules%2F0")


def test_huge_folder_is_closed_and_truncated(alices, session, workspace, monkeypatch):
    monkeypatch.setattr("tasks_app.pages.file_tree.MOST_ENTRIES", 5)
    for number in range(9):
        workspace.write_bytes(f"many/f{number}.txt", b"x")
    workspace.write_bytes("some/one.txt", b"x")
    page = alices.page(f"{session.get_absolute_url()}?files")
    assert ("one.txt" in page, "f0.txt" in page, "Not all files" in page) == (True, False, False)
    opened = inside(alices, session, "many")
    assert ("f4.txt" in opened, "f5.txt" in opened, "Not all files are shown" in opened) == (True, False, True)


def test_strangers_see_no_folder(charlie, session, workspace, browser):
    workspace.write_bytes("deep/one.txt", b"x")
    assert browser(charlie).get(f"{session.get_absolute_url()}files/?folder=deep", headers=HTMX).status_code == 404


def test_undecodable_names_break_no_page(alices, session, workspace):
    workspace.make_root()
    os.close(os.open(os.fsencode(workspace.root) + b"/bad\xff\n", os.O_CREAT))
    assert "bad\\udcff\\n" in alices.page(session.get_absolute_url())


def test_huge_workspace_is_truncated(alices, session, workspace, monkeypatch):
    monkeypatch.setattr("tasks_app.pages.file_tree.MOST_ENTRIES", 5)
    for number in range(9):
        workspace.write_bytes(f"f{number}.txt", b"x")
    page = alices.page(session.get_absolute_url())
    assert "f4.txt" in page
    assert "f5.txt" not in page
    assert "Not all files are shown" in page


@pytest.mark.django_db(transaction=True)
async def test_deleted_picture_comes_from_the_history_or_is_reported(get, session, workspace, charlie):
    def draw_and_delete():
        workspace.write_bytes("chart.png", b"\x89PNG drawn")
        file_history.record(session, workspace)
        file_history.record(session, workspace)
        workspace.delete("chart.png")
        file_history.record(session, workspace)

    await sync_to_async(draw_and_delete)()
    shown = await get("chart.png")
    assert (shown.body, shown["Content-Type"]) == (b"\x89PNG drawn", "image/png")
    gone = await get("<never>.png")
    assert (gone.status_code, gone["Content-Type"]) == (404, "image/svg+xml")
    assert b"&lt;never&gt;.png" in gone.content
    assert (await get("chart.png", charlie))["Content-Type"].startswith("text/html")
    assert (await get("never.txt"))["Content-Type"].startswith("text/html")
