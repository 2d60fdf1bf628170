"""Access rights: alice owns, bob reads, carol writes, charlie has no access, and a stranger is not signed in."""

import pytest

PAGES = ["", "?before=3"]
FILE = "files/notes.txt"
DEEDS = ["messages/", "stop/", "reply/", "approval/", "change/", "files/", "files/delete/?path=notes.txt", "delete/"]
FORM = {"content": "x", "call": "call_1", "decision": "approved", "title": "x"}


@pytest.fixture
def address(session):
    return session.get_absolute_url()


@pytest.mark.parametrize("path", [*PAGES, FILE, "files/delete/?path=notes.txt", "delete/"])
def test_session_of_other_users_is_404(path, browser, charlie, address):
    assert browser(charlie).get(address + path).status_code == 404


@pytest.mark.parametrize("path", DEEDS)
def test_actions_in_a_session_of_other_users_are_404(path, browser, charlie, address):
    assert browser(charlie).post(address + path, FORM).status_code == 404
    assert browser(charlie).htmx(address + path, FORM).status_code == 404


@pytest.mark.parametrize("path", DEEDS)
def test_reader_cannot_change_anything(path, browser, bob, address, session):
    response = browser(bob).post(address + path, FORM)
    assert response.status_code == 403
    session.refresh_from_db()
    assert (session.title, session.last_seq) == ("", 0)


@pytest.mark.parametrize("path", PAGES)
def test_reader_has_no_composer(path, browser, bob, address):
    page = browser(bob).page(address + path)
    assert "has shared this session with you, read-only" in page
    assert 'id="composer"' not in page


def test_writer_has_a_composer_but_cannot_delete(browser, carol, address):
    page = browser(carol).page(address)
    assert 'id="composer"' in page
    assert "Delete this session" not in page
    assert browser(carol).post(address + "delete/").status_code == 403


def test_list_shows_only_visible_sessions(browser, bob, charlie, session):
    session.title = "Alice's plans"
    session.save()
    assert "Alice&#x27;s plans" in browser(bob).page("/")
    assert "Alice" not in browser(charlie).page("/")


@pytest.mark.parametrize("path", ["/", "/inbox/", "/settings/", "/usage/", "/memory/"])
def test_stranger_is_redirected_to_sign_in(path, browser):
    response = browser().get(path)
    assert (response.status_code, response["Location"]) == (302, f"/accounts/login/?next={path}")


def test_htmx_after_sign_out_is_redirected_to_sign_in(browser, address):
    response = browser().htmx(address + "messages/", FORM)
    assert response["HX-Redirect"] == "/accounts/login/?next=/"


def test_personal_pages_are_not_cached(alices, address):
    assert "no-store" in alices.get(address)["Cache-Control"]


@pytest.mark.parametrize("path", ["/", "/settings/", "/usage/", "/inbox/", "/accounts/login/"])
def test_pages_have_no_inline_scripts_or_styles(path, alices):
    response = alices.get(path, follow=True)
    page = response.content.decode()
    assert "'unsafe" not in response["Content-Security-Policy"]
    assert " style=" not in page
    assert " onclick=" not in page
    assert page.count("<script") == page.count("<script src=")
