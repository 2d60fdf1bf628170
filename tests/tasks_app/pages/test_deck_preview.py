"""Slides in the chat: their pages, and a sandboxed preview."""

import pytest
from django.test import AsyncClient

from tasks_app.workspace.folders import workspace_of

pytestmark = pytest.mark.django_db(transaction=True)
HTML = b"<!DOCTYPE html><h1>Deck</h1><script>alert(1)</script>"


@pytest.fixture
def workspace(session):
    return workspace_of(session)


@pytest.fixture
def get(session, alice):
    async def preview(path, user=alice):
        client = AsyncClient()
        await client.aforce_login(user)
        response = await client.get(f"{session.get_absolute_url()}preview/{path}")
        if response.status_code == 200:
            response.body = b"".join([chunk async for chunk in response.streaming_content])
        return response

    return preview


def test_card_shows_slides_and_a_sandboxed_preview(alices, session, called):
    called("slides", '{"path": "a b.html"}', "Made", pages=["One <b>", "Two"], preview="a b.html")
    page = alices.page(session.get_absolute_url())
    assert f'sandbox src="{session.get_absolute_url()}preview/a%20b.html"' in page
    assert "<li>One &lt;b&gt;</li><li>Two</li>" in page
    assert "allow-" not in page.partition("<iframe")[2].partition(">")[0]


def test_powerpoint_has_slides_and_no_preview(alices, session, called):
    called("slides", '{"path": "a.pptx"}', "Made", pages=["One"])
    page = alices.page(session.get_absolute_url())
    assert "<li>One</li>" in page
    assert "<iframe" not in page


async def test_preview_is_sandboxed(get, workspace):
    workspace.write_bytes("deck.html", HTML)
    response = await get("deck.html")
    assert response.body == HTML
    assert response["Content-Type"] == "text/html; charset=utf-8"
    policy = {part.strip().partition(" ")[0]: part.strip() for part in response["Content-Security-Policy"].split(";")}
    assert policy["sandbox"] == "sandbox"
    assert policy["default-src"] == "default-src 'none'"
    assert policy["frame-ancestors"] == "frame-ancestors 'self'"
    assert "script-src" not in policy
    assert response["X-Frame-Options"] == "SAMEORIGIN"
    assert response["X-Content-Type-Options"] == "nosniff"


async def test_preview_needs_access_to_the_session(get, workspace, bob, charlie):
    workspace.write_bytes("deck.html", HTML)
    assert (await get("deck.html", bob)).status_code == 200
    assert (await get("deck.html", charlie)).status_code == 404


@pytest.mark.parametrize("path", ["deck.pptx", "missing.html", "../deck.html", "notes.txt"])
async def test_only_html_has_a_preview(get, workspace, path):
    workspace.write_bytes("deck.pptx", HTML)
    workspace.write_bytes("notes.txt", HTML)
    assert (await get(path)).status_code == 404
