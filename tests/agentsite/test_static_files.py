"""Static files: hashed names, one copy for all processes that share the folder, and files of other versions."""

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.test import AsyncClient

from agentsite import static_files
from agentsite.static_files import FOLDER, hashed_name, plain_name, prepared

YEAR = "max-age=315360000, public, immutable"
MINUTE = "max-age=60, public"


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files are served as ours. Its content can change as in an upgrade; `new_process` clears caches."""
    monkeypatch.setattr(settings, "STATICFILES_DIRS", [tmp_path])
    monkeypatch.setattr(finders, "find", lambda name: str(tmp_path / name) if (tmp_path / name).exists() else None)
    monkeypatch.setattr(static_files, "_hashed_names", {})
    return tmp_path


def new_process() -> None:
    static_files._hashed_names.clear()


async def get(path: str, **headers: str) -> Any:
    return await AsyncClient().get(path, headers={"Accept-Encoding": "gzip", **headers})


async def body(response: Any) -> bytes:
    data = b"".join([part async for part in response.streaming_content])
    return gzip.decompress(data) if response.headers.get("Content-Encoding") == "gzip" else data


async def test_our_files_are_minified_and_cached_forever() -> None:
    response = await get(static("session.css"))
    assert response.headers["Cache-Control"] == YEAR
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["Vary"] == "Accept-Encoding"
    assert response.headers["Content-Type"] == 'text/css; charset="utf-8"'
    plain = await body(response)
    assert b"/*" not in plain
    uncompressed = await get(static("session.css"), **{"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in uncompressed.headers
    assert await body(uncompressed) == plain


@pytest.mark.parametrize(
    "name",
    ["admin/js/core.js", "unfold/css/styles.css", "drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"],
)
async def test_package_files_are_cached_forever_too(name: str) -> None:
    response = await get(static(name))
    assert (response.headers["Cache-Control"], response.headers["Content-Encoding"]) == (YEAR, "gzip")


async def test_references_in_css_get_hashed_names() -> None:
    styles = prepared("unfold/fonts/inter/styles.css")
    assert styles
    (font, *_) = re.findall(r"url\((.+?)\)", styles.read_text())
    assert plain_name(font) != font
    response = await get(f"/static/unfold/fonts/inter/{font}")
    assert response.headers["Cache-Control"] == YEAR
    assert "Content-Encoding" not in response.headers  # its format is compressed


async def test_unhashed_and_outdated_names_get_the_current_file_for_a_minute() -> None:
    content = await body(await get(static("app.js")))
    for name in ("app.js", f"app.{'0' * 8}.js"):
        response = await get(f"/static/{name}")
        assert response.headers["Cache-Control"] == MINUTE
        assert await body(response) == content


async def test_files_of_the_previous_version_are_still_served(ours: Path) -> None:
    (ours / "a.css").write_text("a { color: red }")
    before = static("a.css")
    assert await body(await get(before)) == b"a{color:red}"
    (ours / "a.css").write_text("a { color: blue }")
    new_process()
    assert static("a.css") != before
    response = await get(before)
    assert await body(response) == b"a{color:red}"
    assert response.headers["Cache-Control"] == YEAR


async def test_changed_file_is_never_stored_under_its_old_hash(ours: Path) -> None:
    (ours / "changed.css").write_text("a { color: red }")
    before = static("changed.css")  # a page refers to it, no client has requested it
    (ours / "changed.css").write_text("a { color: blue }")
    response = await get(before)
    assert await body(response) == b"a{color:blue}"
    assert response.headers["Cache-Control"] == MINUTE
    assert static("changed.css") != before
    assert (await get(static("changed.css"))).headers["Cache-Control"] == YEAR


@pytest.mark.parametrize(
    "path",
    ["nothing.css", "", "..%2fmanage.py", "../manage.py", "admin", "admin/", "app.js/", "app%00.js", "x" * 5000]
    + [f"../keys/secret_key.{'0' * 8}.txt", f"a/../app.{'0' * 8}.js"],
)
async def test_other_names_are_not_found(path: str) -> None:
    assert (await get(f"/static/{path}")).status_code in (400, 404)


async def test_invented_names_are_not_cached() -> None:
    handler = AsyncClient().handler
    handler.load_middleware(is_async=True)
    names = set(static_files._hashed_names)
    for number in range(10):
        await get(f"/static/app.{number:08x}.js")
        await get(f"/static/nothing-{number}.js")
    assert set(static_files._hashed_names) - names <= {"app.js"}


def test_hosts_that_share_the_folder_can_start_together(ours: Path) -> None:
    for number in range(20):
        (ours / "together.css").write_text(f"a{{margin:{number}px}}")
        new_process()
        with ThreadPoolExecutor(4) as hosts:
            copies = list(hosts.map(prepared, ["together.css"] * 4))
        assert {copy.read_text() for copy in copies if copy} == {f"a{{margin:{number}px}}"}


async def test_original_file_is_served_without_room_for_a_copy(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ours / "full.css").write_text("a { color: red }")
    (ours / "no-folder").write_text("")
    monkeypatch.setattr(static_files, "FOLDER", ours / "no-folder")
    response = await get(static("full.css"))
    assert await body(response) == b"a { color: red }"
    assert response.headers["Cache-Control"] == MINUTE


def test_file_lookups_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page has dozens of file URLs."""
    hashed_name("icons.svg")
    monkeypatch.setattr(finders, "find", None)
    assert (FOLDER / hashed_name("icons.svg")).name == static("icons.svg").rpartition("/")[2]
