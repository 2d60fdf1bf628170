"""Error pages: one sentence, and a link onwards."""

import re

import pytest

NOWHERE = "/s/00000000-0000-0000-0000-000000000000/"


@pytest.mark.parametrize("path", [NOWHERE, "/nowhere/", "/s/not-an-id/"])
def test_missing_page_has_a_sentence(path, alices):
    response = alices.get(path)
    page = response.content.decode()
    assert response.status_code == 404
    assert "This page does not exist, or it is not shared with you." in page
    assert "To your sessions" in page


def test_script_gets_only_the_sentence(alices):
    page = alices.htmx(f"{NOWHERE}stop/").content.decode()
    assert page.startswith('<div class="toast bad">')
    assert "This page does not exist" in page


def test_server_error_has_its_own_page(alices, monkeypatch):
    monkeypatch.setattr("tasks_app.pages.home.render", lambda *_: 1 / 0)
    alices.raise_request_exception = False
    response = alices.get("/")
    assert response.status_code == 500
    assert "The server had an internal error" in response.content.decode()


def test_sign_up_is_closed(browser):
    assert "Accounts are created by administrators" in browser().page("/accounts/signup/")


def test_password_page_uses_our_layout(alices):
    assert re.search(r"/static/app\.[0-9a-f]+\.css", alices.page("/accounts/password/change/"))
