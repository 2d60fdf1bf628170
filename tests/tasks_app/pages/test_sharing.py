"""Sessions shared with people, with roles, and by revocable links."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core.cache import caches
from django.utils import timezone

from llm_app.models import Secret
from tasks_app.hub.access_watch import AccessWatch
from tasks_app.models import Session, SessionMember, ShareLink
from tasks_app.record import redactor_of
from tasks_app.services import sharing
from tests import factories

REDIS_IS_AWAY = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}


@pytest.fixture
def mine(alice):
    return factories.SessionFactory(owner=alice, title="The plan")


def share(browser, session, **data):
    return browser.post(f"/s/{session.pk}/share/", {"do": "add", "rights": "read", **data}, follow=True)


def test_sharing_with_a_user_to_read_and_then_to_write(mine, alices, bob, browser):
    share(alices, mine, person="bob")
    assert "read-only" in browser(bob).page(mine.get_absolute_url())
    share(alices, mine, person="bob", rights="write")
    assert 'id="composer"' in browser(bob).page(mine.get_absolute_url())
    member = SessionMember.objects.get(user=bob, session=mine)
    alices.post(f"/s/{mine.pk}/share/", {"do": "remove", "id": member.pk})
    assert browser(bob).get(mine.get_absolute_url()).status_code == 404


def test_sharing_with_a_role_includes_later_members(mine, alices, alice, bob, charlie, browser):
    role = Group.objects.create(name="analysts")
    for person in (alice, bob):
        person.groups.add(role)
    share(alices, mine, role="analysts", rights="write")
    assert browser(bob).get(mine.get_absolute_url()).status_code == 200
    assert browser(charlie).get(mine.get_absolute_url()).status_code == 404
    assert AccessWatch().statuses([mine.pk])[mine.pk].rights == {alice.pk: True, bob.pk: True}
    charlie.groups.add(role)
    assert browser(charlie).get(mine.get_absolute_url()).status_code == 200
    bob.groups.clear()
    assert not Session.objects.visible_to(bob).filter(pk=mine.pk).exists()


def test_secrets_of_writers_by_role_are_redacted(mine, alices, alice, bob):
    role = Group.objects.create(name="analysts")
    alice.groups.add(role)
    bob.groups.add(role)
    Secret.objects.create(owner=bob, name="HIS", value="bobs-s3cr3t-value")
    share(alices, mine, role="analysts")
    assert redactor_of(mine).redacted("bobs-s3cr3t-value") == "bobs-s3cr3t-value"
    share(alices, mine, role="analysts", rights="write")
    assert redactor_of(mine).redacted("bobs-s3cr3t-value") == "[secret:HIS]"


@pytest.mark.parametrize("data", [{"person": "nobody"}, {"person": "alice"}, {"role": "admins"}, {}])
def test_sharing_needs_another_user_or_an_own_role(data, mine, alices):
    Group.objects.create(name="admins")
    assert "Check the spelling" in share(alices, mine, **data).content.decode()
    assert not mine.memberships.exists()


@pytest.fixture
def link(mine, alices, recorded, session):
    """Return a link to a session with entries."""
    recorded("user_message", "Hello <b>you</b>.", metadata={"author": "alice"})
    page = alices.post(f"/s/{session.pk}/share/", {"do": "link", "days": "7"}).content.decode()
    caches["tries"].clear()
    return re.search(r"http://testserver(/shared/[\w-]{40,}/)", page)[1]


def test_link_shows_messages_to_anyone(link, browser, session, called):
    called("shell", '{"command": "cat private.txt"}', "The private file.")
    called("message", '{"type": "result", "text": "**Done**, see `a.md`."}', "")
    answer = browser().get(link)
    page = answer.content.decode()
    assert "Hello &lt;b&gt;you&lt;/b&gt;." in page
    assert "<strong>Done</strong>" in page
    assert "private" not in page
    assert str(session.pk) not in page
    assert answer["X-Robots-Tag"] == "noindex, nofollow"
    assert "no-store" in answer["Cache-Control"]


def test_shared_session_is_paged(link, browser, recorded, monkeypatch):
    monkeypatch.setattr("tasks_app.services.transfer.PAGE_ENTRIES", 2)
    for number in range(3, 6):
        recorded("user_message", f"Message {number}.", metadata={"author": "alice"})
    first = browser().page(link)
    assert "Message 3." not in first
    second = browser().page(f"{link}?after={re.search(r'after=([0-9]+)', first)[1]}")
    assert ["Hello" in second, "Message 3." in second, "Message 4." in second] == [False, True, True]
    assert "From the beginning" in second
    assert "Read on" not in browser().page(f"{link}?after={re.search(r'after=([0-9]+)', second)[1]}")


def test_calls_without_messages_are_skipped_in_limited_steps(link, browser, recorded, monkeypatch):
    monkeypatch.setattr("tasks_app.services.transfer.PAGE_ENTRIES", 1)
    monkeypatch.setattr("tasks_app.services.transfer.MAX_EMPTY_PAGES", 3)
    for number in range(12):
        recorded("system_reminder", f"Reminder {number}.")
    recorded("user_message", "At last.", metadata={"author": "alice"})
    pages, after = [], "0"
    while after:
        pages.append(browser().page(f"{link}?after={after}"))
        (after,) = re.findall(r"after=([0-9]+)", pages[-1])[-1:] if "Read on" in pages[-1] else [""]
    assert 3 < len(pages) < 10
    assert "At last." in pages[-1]


def test_link_shows_no_secret(link, browser, alice, recorded):
    recorded("user_message", "It is late-s3cr3t.", metadata={"author": "alice"})
    Secret.objects.create(owner=alice, name="LATE", value="late-s3cr3t")
    page = browser().get(link).content.decode()
    assert "late-s3cr3t" not in page
    assert "[secret:LATE]" in page


def test_link_is_stored_as_a_hash_and_expires(link, browser, alices, session):
    row = ShareLink.objects.get()
    assert row.token_sha256 not in link
    row.expires_at = timezone.now() - timedelta(seconds=1)
    row.save()
    assert browser().get(link).status_code == 404


def test_revoked_link_is_invalid(link, browser, alices, session):
    alices.post(f"/s/{session.pk}/share/", {"do": "revoke", "id": ShareLink.objects.get().pk})
    assert browser().get(link).status_code == 404


def test_guessing_links_is_limited(link, browser):
    answers = [browser().get(f"/shared/guess{number}/").status_code for number in range(62)]
    assert answers == [404] * 60 + [429] * 2


def test_wrong_links_do_not_block_valid_ones(link, browser):
    for number in range(62):
        browser().get(f"/shared/guess{number}/")
        assert number % 20 or browser().get(link).status_code == 200
    assert browser().get(link).status_code == 200


def test_valid_links_are_not_counted(link, browser):
    for _ in range(61):
        browser().get(link)
    assert browser().get("/shared/guess/").status_code == 404


def test_link_uses_the_public_address(mine, alices, settings):
    settings.AGENTSITE_URL = "https://agents.example.org"
    page = alices.post(f"/s/{mine.pk}/share/", {"do": "link", "days": "7"}).content.decode()
    assert re.search(r"https://agents\.example\.org/shared/[\w-]{40,}/", page)
    answer = alices.post(f"/api/v1/sessions/{mine.pk}/links/", {"days": 7}, content_type="application/json")
    assert answer.json()["url"].startswith("https://agents.example.org/shared/")


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("carol", 403), ("charlie", 404)])
def test_only_the_owner_shares(who, status, session, browser, request):
    somebody = browser(request.getfixturevalue(who))
    for data in ({"do": "add", "person": "charlie"}, {"do": "link"}, {"do": "revoke", "id": "1"}):
        assert somebody.post(f"/s/{session.pk}/share/", data).status_code == status
    assert somebody.get(f"/s/{session.pk}/share/").status_code == status


def test_preferences_are_not_in_the_prompt_of_a_shared_session(mine, alice, bob):
    from llm_app.types import ToolMode
    from tasks_app.engine.prompt import build
    from tasks_app.run import TaskContext
    from tasks_app.workspace.folders import sandbox, workspace_of

    alice.preferences = "I live in Lyon."
    alice.save()
    task = factories.TaskFactory(session=mine)
    prompt = lambda: build.build(TaskContext(task, workspace_of(mine), sandbox()), ToolMode.NATIVE, 4_000).prompt.system  # noqa: E731
    assert "Lyon" in prompt()
    factories.MemberFactory(session=mine, user=bob)
    assert "Lyon" not in prompt()


def test_link_ends_with_its_owners_account(link, browser, alice):
    alice.is_active = False
    alice.save()
    assert browser().get(link).status_code == 404


def test_shared_session_is_shown_while_redis_is_away(client, mine, settings):
    settings.CACHES = {
        "default": REDIS_IS_AWAY,
        "tries": REDIS_IS_AWAY | {"BACKEND": "agentsite.team_cache.RedisOrLocalCache"},
    }
    token = sharing.make_link(mine, sharing.DAYS[0])
    assert client.get(f"/shared/{token}/").status_code == 200
    assert client.get("/shared/nothing/").status_code == 404
