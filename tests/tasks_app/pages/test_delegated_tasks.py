"""Delegated tasks on the page of their parent, and links back to it."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app.models import Agent, Task, ToolCallLog
from tests import factories


@pytest.fixture
def parent(task, called):
    called("delegate", "{}", status="waiting")
    task.state, task.waiting_for = "executing_tool", "children"
    task.save()
    return task


@pytest.fixture
def child(parent):
    """Return a function that creates another child, as the newest."""

    def make(title="Compare the prices", state="thinking", **fields):
        agent, _ = Agent.objects.get_or_create(name="researcher")
        number = Task.objects.filter(parent_call__task=parent).count() + 1
        about = {"root": parent.session, "folder": f"children/{number}", "title": title, "agent": agent}
        session = factories.SessionFactory(owner=parent.session.owner, **about)
        call = ToolCallLog.objects.get(task=parent, name="delegate")
        return factories.TaskFactory(session=session, parent_call=call, number=number, state=state, **fields)

    return make


def card_of(html):
    return html.partition('<ol class="delegated"')[2].partition("</ol>")[0]


def test_card_links_each_child_with_agent_and_state(alices, parent, child):
    children = [child(), child("Find a name", "initializing"), child("Draw", "executing_tool", waiting_for="reply")]
    card = card_of(alices.page(parent.session.get_absolute_url()))
    for one, state in zip(children, ("Works", "Queued", "Waits for you"), strict=True):
        row = next(row for row in card.split("<li>") if one.session.get_absolute_url() in row)
        assert state in row
        assert "esearcher" in row
        assert one.session.title in row
    assert "Asked by researcher, for:" in card


def test_call_waiting_for_children_is_not_a_question(alices, parent, child):
    child()
    assert "Your answer" not in alices.page(parent.session.get_absolute_url())


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ([{}, {}, {"state": "initializing", "waiting_for": "siblings"}], "Waits for 3 delegated tasks"),
        ([{}], "Waits for 1 delegated task<"),
        ([{}, {"state": "executing_tool", "waiting_for": "reply"}], "1 delegated task needs you"),
    ],
)
def test_state_counts_the_children(alices, parent, child, states, words):
    for fields in states:
        child(**fields)
    html = alices.page(parent.session.get_absolute_url())
    assert words in html.partition('<div id="state"')[2].partition("</div>")[0]


@pytest.mark.parametrize("waiting_for", ["reply", "approval"])
def test_child_waiting_for_a_person_shows_in_the_top_session(alices, parent, child, waiting_for):
    above = child(state="executing_tool", waiting_for="children")
    call = ToolCallLog.objects.create(
        task=above, session_id=above.session_id, call_id="d2", name="delegate", fingerprint="x", status="waiting"
    )
    deepest = factories.SessionFactory(owner=above.session.owner, root=parent.session, folder="children/1/children/1")
    Task.objects.filter(pk=parent.pk).update(waiting_for="children")
    assert "Delegated" in row_of(alices.page("/sessions/"), parent)
    about = {"state": "executing_tool", "waiting_for": waiting_for, "number": 1}
    factories.TaskFactory(session=deepest, parent_call=call, **about)
    html = alices.page(parent.session.get_absolute_url())
    assert "1 delegated task needs you" in html.partition('<div id="state"')[2].partition("</div>")[0]
    assert "Waits for you" in card_of(html)
    assert "Waits for you" in row_of(alices.page("/sessions/"), parent)


def row_of(html, task):
    """Return the session's row in a list."""
    return html.rpartition(f'<a href="{task.session.get_absolute_url()}"')[2].partition("</li>")[0]


def test_composer_explains_effects_on_children(alices, parent, child):
    child()
    html = alices.page(parent.session.get_absolute_url())
    assert "stops delegated tasks" in html
    assert "after their results" in html


def test_page_of_a_child_links_back(alices, parent, child):
    html = alices.page(child().session.get_absolute_url())
    crumb = html.partition('class="crumb"')[2].partition("</nav>")[0]
    assert f'href="{parent.session.get_absolute_url()}"' in crumb


def test_inbox_names_the_asking_agent(alices, parent, child, asking):
    Task.objects.filter(pk=parent.pk).update(parent_call=None, waiting_for="reply")
    assert "Asked by" not in alices.page("/inbox/")
    delegated = child()
    asking.session.entries.update(session=delegated.session)
    ToolCallLog.objects.filter(task=asking).exclude(name="delegate").update(
        session_id=delegated.session_id, task=delegated
    )
    Task.objects.filter(pk=delegated.pk).update(state="executing_tool", waiting_for="reply")
    Task.objects.filter(pk=parent.pk).update(waiting_for="children")
    html = alices.page("/inbox/")
    assert "Asked by researcher, for:" in html
    assert f'href="{parent.session.get_absolute_url()}"' in html


def test_symlink_instead_of_a_childs_folder_breaks_no_page(alices, child, tmp_path):
    session = child().session
    (tmp_path / "key.txt").write_text("secret")
    session.workspace_path.parent.mkdir(parents=True)
    session.workspace_path.symlink_to(tmp_path)
    page = session.get_absolute_url()
    assert "key.txt" not in alices.page(page)
    upload = {"files": [SimpleUploadedFile("a.txt", b"x")]}
    asked = [alices.get(f"{page}files/key.txt"), alices.get(f"{page}export/"), alices.htmx(f"{page}files/", upload)]
    asked += [
        alices.get(f"/api/v1/sessions/{session.pk}/files/"),
        alices.get(f"/api/v1/sessions/{session.pk}/files/key.txt"),
    ]
    assert [answer.status_code for answer in asked if answer.status_code >= 500] == []
    assert [path.name for path in tmp_path.iterdir()] == ["key.txt"]


def test_delete_share_and_move_are_offered_at_the_top_only(alices, parent, child):
    verbs = ("delete/", "project/", "share/")
    for session, offered in ((parent.session, True), (child().session, False)):
        address = session.get_absolute_url()
        pages = alices.page(address) + alices.page(f"{address}manage/")
        assert [f'href="{address}{verb}"' in pages for verb in verbs] == [offered] * 3
