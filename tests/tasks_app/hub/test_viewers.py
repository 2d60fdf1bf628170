"""Fragments are shared by viewers with the same rights, and never shown to a viewer with other rights."""

from itertools import permutations

import pytest

from llm_app.models import Secret
from tasks_app.hub.snapshot import SessionSnapshot
from tasks_app.hub.updates import SubscriberIdentity
from tasks_app.models import ContextType, InboxMessage, Task
from tasks_app.pages import fragments
from tasks_app.pages.fragments import Fragment, ItemUpdate, Viewer
from tasks_app.record import transcript
from tasks_app.services import secrets
from tests import factories
from tests.factories import log

pytestmark = pytest.mark.django_db
LIVE_FRAGMENTS = ["state", "here", "said", "actions", "plan", "spent", "waiting", "queue"]


@pytest.fixture
def people(alice, bob, carol, admin_user):
    """Return viewers: the owner, a reader, a writer, and an administrator who reads."""
    return [
        Viewer(alice, may_write=True, is_starter=True),
        Viewer(bob, may_write=False, is_starter=False),
        Viewer(carol, may_write=True, is_starter=False),
        Viewer(admin_user, may_write=False, is_starter=False),
    ]


def render_unshared(template, viewer, context):
    """Render the template for one viewer without sharing."""
    sees_calls = viewer.user.is_superuser
    own = {"viewer": viewer.user, "may_write": viewer.may_write, "is_starter": viewer.is_starter}
    return fragments._render(template, {**context, **own, "may_see_llm_calls": sees_calls})


def check_fragment(template, people, **context):
    expected = {viewer: render_unshared(template, viewer, context) for viewer in people}
    for order in permutations(people):
        fragment = Fragment(template, **context)
        for viewer in (*order, *order):
            assert fragment.render_for(viewer) == expected[viewer], viewer
    return expected


def check_items(session, people):
    """Return the HTML of all items of the session by viewer."""
    items = transcript.newest_page(session).items
    return [check_fragment("chat/_entry.html", people, session=session, item=item) for item in items]


def test_author_sees_own_message_as_you(recorded, session, people):
    recorded("user_message", "Hello.", metadata={"author": "alice"})
    (_, own_message) = check_items(session, people)
    assert [">You<" in own_message[viewer] for viewer in people] == [True, False, False, False]


def test_new_secret_is_redacted_in_waiting_messages(session, alice, bob):
    InboxMessage.objects.create(session=session, author=alice, content="With s3cr3t-value.", mode="queue")
    session_snapshot = SessionSnapshot(session.pk)
    assert "s3cr3t-value" in waiting_html(session_snapshot, alice)
    secrets.after_saving(Secret.objects.create(owner=alice, name="KEY", value="s3cr3t-value"))
    assert "s3cr3t-value" not in waiting_html(session_snapshot, bob)


def test_new_secret_is_redacted_in_updates(recorded, task, session, alice):
    session_snapshot = SessionSnapshot(session.pk)
    for words in ("First.", "Second."):
        recorded("system_reminder", words)
        session_snapshot.refresh([SubscriberIdentity(alice, "en")], inbox_changed=False, has_newcomers=True)
    recorded("system_reminder", "With s3cr3t-value.")
    secrets.after_saving(Secret.objects.create(owner=alice, name="KEY", value="s3cr3t-value"))
    update = session_snapshot.refresh([SubscriberIdentity(alice, "en")], inbox_changed=False, has_newcomers=False)
    (html,) = update.items.values()
    assert "With " in html
    assert "s3cr3t-value" not in html + update.appended[0].entry.content


def waiting_html(session_snapshot, user):
    update = session_snapshot.refresh([SubscriberIdentity(user, "en")], inbox_changed=False, has_newcomers=True)
    (html,) = update.whole.values()
    return html


def test_only_writers_get_the_form_of_a_question(asking, session, people):
    question = check_items(session, people)[-1]
    assert ['name="content"' in question[viewer] for viewer in people] == [True, False, True, False]


def test_only_writers_get_the_form_of_an_approval(approving, session, people):
    approval = check_items(session, people)[-1]
    assert ['value="approved"' in approval[viewer] for viewer in people] == [True, False, True, False]


def test_writers_can_retry_and_staff_sees_the_failed_call(recorded, session, people):
    route = factories.RouteFactory(provider__name="main", provider_model="m")
    failed_call = log(
        session_id=session.pk,
        model=route.model.name,
        provider="main",
        provider_model="m",
        error="HTTP 500: broken",
        status="failed",
    )
    recorded("status_notice", "It failed.", metadata={"code": "internal", "llm_call": str(failed_call.pk)})
    notice = check_items(session, people)[-1]
    assert ["Try again" in notice[viewer] for viewer in people] == [True, False, True, False]
    assert ["main/m" in notice[viewer] for viewer in people] == [False, False, False, True]
    link = f"/admin/llm_app/route/{route.pk}/change/"
    assert [link in notice[viewer] for viewer in people] == [False, False, False, True]


def test_only_writers_get_suggestions(called, session, people):
    called("message", '{"type": "result", "text": "Done.", "suggestions": ["More"]}', "ok")
    result = check_items(session, people)[-1]
    assert ["data-fill" in result[viewer] for viewer in people] == [True, False, True, False]


def test_only_the_owner_can_delete_a_remembered_note(called, session, people):
    called("memory", '{"text": "Lyon"}', "ok", remembered=True)
    card = check_items(session, people)[-1]
    assert ["Forget it" in card[viewer] for viewer in people] == [True, False, False, False]


@pytest.mark.parametrize("waiting_for", [None, "reply", "approval"])
def test_live_fragments_are_correct_for_each_viewer(waiting_for, task, session, people, alice, carol):
    Task.objects.filter(pk=task.pk).update(state="executing_tool", waiting_for=waiting_for)
    task.refresh_from_db()
    waiting = [InboxMessage.objects.create(session=session, author=author, mode="queue") for author in (alice, carol)]
    for name in LIVE_FRAGMENTS:
        context = {"session": session, "task": task, "queue_position": 2, "oob": True, "waiting": waiting}
        check_fragment(f"chat/_{name}.html", people, **context)


def test_fragment_without_viewer_is_rendered_once(recorded, session, people, monkeypatch):
    recorded(ContextType.SYSTEM_REMINDER, "Be quick.")
    item = transcript.newest_page(session).items[-1]
    fragment = fragments.item_updates(session, [ItemUpdate(item, "message", None)])
    first = [fragment.render_for(viewer) for viewer in people]
    monkeypatch.setattr(fragments, "_render", None)
    assert [fragment.render_for(viewer) for viewer in people] == first
