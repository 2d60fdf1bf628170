"""Errors look like the rest of the site: one sentence, and a way on."""

import re

import pytest

NOWHERE = "/s/00000000-0000-0000-0000-000000000000/"


@pytest.mark.parametrize("path", [NOWHERE, "/nowhere/", "/s/not-an-id/"])
def test_what_is_not_there_says_so(path, alices):
    response = alices.get(path)
    page = response.content.decode()
    assert response.status_code == 404
    assert "This page does not exist, or it is not shared with you." in page
    assert "To your sessions" in page


def test_a_script_gets_the_sentence_alone(alices):
    page = alices.htmx(f"{NOWHERE}stop/").content.decode()
    assert page.startswith('<div class="toast bad">')
    assert "This page does not exist" in page


def test_a_fault_of_the_server_has_a_page_that_needs_nothing(alices, monkeypatch):
    monkeypatch.setattr("tasks_app.pages.home.render", lambda *_: 1 / 0)
    alices.raise_request_exception = False
    response = alices.get("/")
    assert response.status_code == 500
    assert "The server had an internal error" in response.content.decode()


def test_nobody_makes_an_account_for_themselves(browser):
    assert "Accounts are created by administrators" in browser().page("/accounts/signup/")


def test_the_password_page_has_our_look(alices):
    assert re.search(r"/static/app\.[0-9a-f]+\.css", alices.page("/accounts/password/change/"))
