"""The look of each type of entry on a session's page."""

import json
import re

import pytest

from tasks_app.record import StoredPicture

SAY = json.dumps


@pytest.fixture
def show(alices, session):
    return lambda: alices.page(session.get_absolute_url())


def test_user_message_has_author_and_files(show, recorded):
    metadata = {"author": "carol", "attachments": ["a.txt", "b c.png"]}
    files = "[attached file: a.txt, PDF: read it so]\n[attached file: b c.png]"
    recorded("user_message", f"Look.\n\n{files}", metadata=metadata)
    page = show()
    assert "carol" in page
    assert "[attached file" not in page
    assert "files/a.txt" in page
    assert "files/b%20c.png" in page


def test_own_message_is_labelled_you(show, recorded):
    recorded("user_message", "Hello.", metadata={"author": "alice", "attachments": []})
    assert "<span>You</span>" in show()


def test_user_message_is_shown_verbatim(show, recorded):
    recorded("user_message", "<b>**bold**</b>", metadata={"author": "alice"})
    assert "&lt;b&gt;**bold**&lt;/b&gt;" in show()


def test_attached_picture_that_the_text_shows_is_shown_once(show, called):
    message = {"type": "info", "text": "![a](./my%20chart.png)", "attachments": ["my chart.png", "data.png"]}
    called("message", SAY(message))
    page = show()
    assert page.count('files/my%20chart.png"') == 1
    assert 'files/data.png"' in page


def test_agent_message_is_markdown(show, called):
    called("message", SAY({"type": "info", "text": "This is **important**."}))
    assert "This is <strong>important</strong>." in show()


def test_result_has_files_steps_and_suggestions(show, called):
    arguments = {"type": "result", "text": "Done.", "attachments": ["out.md"], "suggestions": ["Print it"]}
    answer, _ = called("message", SAY(arguments))
    answer.metadata["steps"] = [{"seq": 2, "tool": "shell", "status": "failed", "outcome": "no such file"}]
    answer.save()
    page = show()
    assert "files/out.md" in page
    assert 'data-fill="Print it"' in page
    assert "1 step<" in page
    assert 'href="#e2">shell' in page
    assert "no such file" in page


def test_data_of_a_result_is_shown(show, called):
    called("message", SAY({"type": "result", "text": "Done.", "data": {"city": "<Ulm>"}}))
    assert "&quot;city&quot;: &quot;&lt;Ulm&gt;&quot;" in show()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("succeeded", "Done"),
        ("failed", "Failed"),
        ("blocked", "Blocked"),
        ("rejected", "Rejected"),
        ("interrupted", "Interrupted"),
        ("unknown", "Outcome unknown"),
        ("started", "Running"),
    ],
)
def test_call_describes_its_outcome(status, words, show, called):
    called("shell", SAY({"command": "ls -la"}), "total 0", status)
    page = show()
    assert re.search(rf"class=\"badge [^>]+>(<svg.*?</svg>)?{re.escape(words)}</span>", page)
    assert "<code>ls -la</code>" in page


def test_result_shows_its_pictures(show, called):
    shown = StoredPicture(sha256="0" * 64, media_type="image/png", path="a chart.png", width=8, height=6)
    called("file", SAY({"action": "read", "path": "a chart.png"}), "a picture", images=[shown])
    assert 'alt="a chart.png"' in show()


def test_call_and_result_are_one_card(show, called):
    called("shell", SAY({"command": "ls"}), "a.txt\nb.txt", duration_ms=1500)
    page = show()
    assert page.count('class="tool"') == 1
    assert page.count("<article id=") == 2  # the user's message, and the card
    assert "a.txt\nb.txt" in page
    assert "1.5 s" in page


def test_diff_is_coloured_by_line(show, called):
    called(
        "file", SAY({"action": "edit", "path": "a"}), "Edited a.", diff="--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n same"
    )
    page = show()
    assert '<span class="added">+new' in page
    assert '<span class="removed">-old' in page
    assert '<span class="file">--- a' in page


def test_tool_can_have_its_own_card(show, called, settings, tmp_path):
    """Render the calls of the tool NAME with the template chat/tools/NAME.html of any app."""
    cards = tmp_path / "chat" / "tools"
    cards.mkdir(parents=True)
    extends = '{% extends "chat/tools/_card.html" %}'
    cards.joinpath("weather.html").write_text(
        extends + "{% block below %}Sunny in {{ item.arguments.city }}{% endblock %}"
    )
    (engine,) = settings.TEMPLATES
    settings.TEMPLATES = [engine | {"DIRS": [*engine["DIRS"], tmp_path]}]
    called("weather", SAY({"city": "Bern"}), "22 degrees")
    page = show()
    assert "Sunny in Bern" in page
    assert 'class="tool"' in page
    assert "22 degrees" in page


@pytest.mark.parametrize("name", ["unheard_of", "mcp.server/tool", "../../settings", "_card", "a b", "größe"])
def test_tool_without_a_card_has_the_common_one(name, show, called):
    called(name, SAY({"city": "Bern"}), "22 degrees")
    page = show()
    assert page.count('class="tool"') == 1
    assert "22 degrees" in page


def test_only_the_slides_tool_has_its_card(show, called):
    called("shell", "{}", "done", pages=["One", "Two"])
    assert 'class="deck"' not in show()
    called("slides", "{}", "done", pages=["Three", "Four"])
    assert "<li>Four</li>" in show()


@pytest.mark.parametrize(
    "arguments", ["{not json", "[1, 2]", '"text"', "null", "[" * 5000, '{"text": 5}', '{"options": {"a": 1}}', "{}"]
)
@pytest.mark.parametrize("tool", ["message", "shell"])
def test_invalid_arguments_break_no_page(tool, arguments, show, called, alices, session):
    call, _ = called(tool, arguments, "These arguments are invalid.", "failed")
    step = f"{session.get_absolute_url()}steps/{call.seq}/"
    assert "These arguments are invalid." in (
        show() if tool == "message" or len(arguments) < 200 else alices.page(step)
    )


def test_arguments_and_results_are_escaped(show, called):
    called("shell", SAY({"command": "<script>alert(1)</script>"}), "<img src=x onerror=alert(1)>")
    page = show()
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_thinking_is_folded_with_its_first_words(show, recorded, called):
    recorded("no_tool_call_retry", "words", thought="Hm, let me see.")
    called("shell", "{}")
    assert "Hm, let me see." not in show()  # the words of a discarded turn are enough


def test_thinking_of_a_call_is_shown_before_it(show, recorded):
    recorded("ai_message", "Cut short", thought="Hm, let me see.", metadata={"status": "interrupted"})
    assert "Thought: Hm, let me see." in show()


@pytest.mark.parametrize("kind", ["system_reminder", "workflow_step"])
def test_entries_for_the_model_are_folded_and_labelled(kind, show, recorded):
    recorded(kind, "Words for the model.")
    page = show()
    assert "Words for the model." in page
    assert 'class="quiet"' in page
    assert ">seen by the model<" in page


def test_handoff_names_the_agent_and_folds_its_note(show, recorded):
    recorded("handoff", "From here on …", metadata={"from": "<b>A</b>", "to": "Writer", "note": "Mind the tone."})
    page = show()
    assert "<b>&lt;b&gt;A&lt;/b&gt;</b> handed on to <b>Writer</b>" in page
    assert "From here on …" in page
    assert ">seen by the model<" in page


def test_reply_without_a_call_is_readable_and_marked_as_withdrawn(show, recorded):
    recorded("no_tool_call_retry", "I think <b>it</b> is done.")
    page = show()
    assert "I think &lt;b&gt;it&lt;/b&gt; is done." in page
    assert "Withdrawn: a reply without a tool call." in page
    assert ">seen by the model<" in page
    assert 'class="quiet"' not in page


def test_withdrawn_reply_is_hidden_with_an_output_filter(show, recorded):
    recorded("no_tool_call_retry", "Her number is EMP-1815.", metadata={"output_filter": True})
    page = show()
    assert "EMP-1815" not in page
    assert "not shown while an output filter is on" in page


def test_entries_hidden_from_models_are_labelled(show, recorded):
    recorded("status_notice", "The provider is slow.")
    recorded("ai_message", "Half an ans", metadata={"status": "interrupted"}, discarded=True)
    assert show().count(">not seen by the model<") == 2


def test_failure_has_advice_and_a_retry_button(show, recorded):
    recorded("status_notice", "The model is not reachable. Try again.", metadata={"code": "provider_unavailable"})
    page = show()
    assert "The model is not reachable. Try again." in page
    assert 'value="go on"' in page


def test_earlier_entries_are_loaded_on_demand(alices, session, called, monkeypatch):
    monkeypatch.setattr("tasks_app.record.transcript.PAGE_ENTRIES", 5)
    for number in range(6):
        called("shell", SAY({"command": f"echo {number}"}), f"out {number}")
    seen: list[int] = []
    before = ""
    while True:
        page = alices.get(f"{session.get_absolute_url()}{before}")
        items = page.context["page"].items
        assert all(item.result for item in items if item.entry.context_type == "tool_call")
        seen = [item.entry.seq for item in items] + seen
        if page.context["page"].earlier is None:
            break
        before = f"?before={page.context['page'].earlier}"
    assert seen == [1, 2, 4, 6, 8, 10, 12]


def test_page_stays_small_with_long_sessions_and_results(alices, session, called):
    for _ in range(12):
        called("message", SAY({"type": "info", "text": "<b> & " * 2_500}))
    page = alices.get(session.get_absolute_url())
    assert len(page.content) < 100 * 1024
    assert page.context["page"].earlier > 1


@pytest.mark.parametrize("before", ["x", "-1", "99999999999999999999", ""])
def test_invalid_position_shows_the_newest_entries(before, alices, session, recorded):
    recorded("status_notice", "Here I am.")
    assert "Here I am." in alices.page(f"{session.get_absolute_url()}?before={before}")


def test_panel_has_plan_and_usage(alices, session, task):
    task.plan = [{"title": "Look", "status": "done"}, {"title": "Write", "status": "in_progress"}]
    task.input_tokens, task.cached_tokens, task.cost_usd = 12_345, 12_000, "0.0321"
    task.save()
    page = alices.page(session.get_absolute_url())
    for words in ("Look", "(now)", "12.3k", "12.0k cached", "$0.0321"):
        assert words in page


def test_waiting_messages_are_shown(alices, session, task):
    alices.post(f"{session.get_absolute_url()}messages/", {"content": "And then this.", "mode": "queue"})
    page = alices.page(session.get_absolute_url())
    assert "Next task" in page
    assert "And then this." in page
