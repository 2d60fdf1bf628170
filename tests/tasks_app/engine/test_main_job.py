"""A task from its first message to its end."""

from tests.tasks_app.engine.conftest import call, result


def test_tools_run_one_after_the_other_until_the_result(play):
    run = play(
        call("file", action="write", path="notes.txt", content="hello"),
        call("file", action="read", path="notes.txt"),
        result("I wrote a file."),
    )
    task = run.advance()
    assert (task.state, task.failure_code, task.iteration) == ("done", "", 3)
    assert task.final_result["text"] == "I wrote a file."
    assert run.types == [
        "user_message",
        "system_reminder",
        "tool_call",
        "tool_result",
        "tool_call",
        "tool_result",
        "ai_message",
        "tool_result",
    ]
    assert "hello" in run.results()[1][1]


def test_the_date_and_the_workspace_follow_the_message_and_are_not_in_the_system_prompt(ask_http, http_provider):
    from tests.provider import openai_result

    http_provider.replies = [openai_result()]
    run = ask_http()
    run.advance()
    system, user, reminder = http_provider.received[0].body["messages"][:3]
    assert (system["role"], user["content"]) == ("system", "Go.")
    assert reminder["content"].startswith("<system_reminder>\nIt is ")
    assert "(empty)" in reminder["content"]
    assert "Today is" not in system["content"]


def test_the_result_becomes_the_summary_and_its_suggestions_the_next_steps(play):
    run = play(call("message", type="result", text="All good.", suggestions=["Deploy it"]))
    run.advance()
    run.task.session.refresh_from_db()
    assert (run.task.session.summary, run.task.session.next_steps) == ("All good.", ["Deploy it"])


def test_the_final_entry_lists_the_steps_with_their_outcome(play):
    run = play(call("file", action="write", path="a.txt", content="x"), call("shel", command="ls"), result())
    run.advance()
    answer = next(entry for entry in run.entries if entry.context_type == "ai_message")
    assert [(step["tool"], step["status"]) for step in answer.metadata["steps"]] == [
        ("file", "succeeded"),
        ("shel", "failed"),
    ]


def test_text_and_thinking_of_a_call_are_recorded(play):
    reply = {**call("file", action="list", path="."), "content": "Let me look.", "thinking": "Hm."}
    run = play(reply, result())
    run.advance()
    entry = run.entries[2]
    assert (entry.context_type, entry.content, entry.thought) == ("tool_call", "Let me look.", "Hm.")


def test_several_calls_run_the_first_and_name_the_others_after_its_result(play):
    several = {
        "calls": [call("file", action="list", path="."), call("plan", action="advance"), call("shell", command="ls")]
    }
    run = play(several, result())
    run.advance()
    assert run.types[2:5] == ["tool_call", "tool_result", "system_reminder"]
    assert 'plan({"action": "advance"})' in run.entries[4].content
    assert 'shell({"command": "ls"})' in run.entries[4].content
    assert len([t for t in run.types if t == "tool_result"]) == 2


def test_a_second_message_starts_a_second_task_in_the_same_conversation(play):
    first = play(result("one"))
    first.advance()
    second = play(result("two"))
    second.advance()
    assert first.task.pk != second.task.pk
    assert [entry.seq for entry in second.entries] == list(range(1, len(second.entries) + 1))


def test_usage_of_all_calls_is_summed(ask_http, http_provider):
    from tests.provider import openai_call, openai_result

    http_provider.replies = [openai_call("plan", {"action": "advance"}), openai_result()]
    task = ask_http().advance()
    assert task.usage == {"input_tokens": 200, "cached_tokens": 80, "output_tokens": 20, "thinking_tokens": 0}
