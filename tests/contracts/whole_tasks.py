"""Tasks of users with everything that can happen in one; the same for every provider and every protocol.

Each takes a world (a session whose model is answered by strict providers) and plays a conversation in its session.
"""

from collections.abc import Callable
from typing import Any

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.models import ContextCut
from tasks_app.runtime import event_loop, stream_buffer
from tasks_app.workspace.folders import workspace_of
from tests.contracts.said import Called, Said, call, result, says
from tests.pictures import picture
from tests.tasks_app.engine.conftest import Run
from tests.waiting import until
from tools_app.models import ToolSetting

THOUGHT = "The person wants a file. I write it."
WholeTask = Callable[[Any], Run]


def write(number: int, words: str = "words") -> Called:
    return call("file", action="write", path=f"notes/{number}.txt", content=f"{words} {number}\n")


def many_turns(world: Any) -> Run:
    """Play thinking and text next to calls, a failing call, several calls in one turn, and a second task."""
    provider = world.providers[0]
    provider.script += [
        says(write(1), thinking=THOUGHT, words="I begin with the first file."),
        says(call("file", action="read", path="missing.txt"), thinking="Is it there?"),
        says(write(2), write(3), write(4), thinking=THOUGHT),
        says(call("plan", action="update", steps=[{"title": "Write"}, {"title": "Check"}])),
        says(call("no_such_tool", a=1)),
        Said(words="I forgot to call a tool.", thinking="Hm."),
        says(call("message", type="info", text="Half of it is done.")),
        says(call("match", action="glob", pattern="*.txt"), words="Now I look."),
        result("All done."),
    ]
    assert world.post("Write four files.").advance().final_result["text"] == "All done."
    provider.script += [
        says(call("file", action="read", path="notes/1.txt"), thinking="Again."),
        result("It is there."),
    ]
    run = world.post("Is the first one there?")
    assert run.advance().final_result["text"] == "It is there."
    return run


def pictures(world: Any) -> Run:
    """Play two pictures: one that a user attaches, and one that a tool reads."""
    workspace_of(world.session).write_bytes("chart.png", picture(80, 60))
    workspace_of(world.session).write_bytes("photo.jpg", picture(40, 40, kind="JPEG"))
    world.providers[0].script += [
        says(call("file", action="read", path="photo.jpg"), thinking="I look."),
        says(write(1)),
        result("A chart."),
    ]
    run = world.post("What is this?", attachments=["chart.png"])
    assert run.advance().final_result["text"] == "A chart."
    return run


def cut_arguments(world: Any) -> Run:
    """Play a call cut at the output limit, one without arguments, and one with arguments that are no object."""
    world.providers[0].script += [
        says(call("file", action="write", path="long.txt", content="word " * 50), cut=True, thinking=THOUGHT),
        says(write(1)),
    ]
    if world.providers[0].protocol in NATIVE:
        broken = [Called(name="plan", arguments=text) for text in ("", "[1]", '{"action": ')]
        world.providers[0].script += [says(called) for called in broken]
    world.providers[0].script += [result()]
    run = world.post("Write a long file.")
    assert run.advance().state == "done"
    return run


NATIVE = ("openai_native", "anthropic_native", "openai_responses")


def interjection(world: Any) -> Run:
    """A user writes while the model is in the middle of a message."""
    provider = world.providers[0]
    text = "Once upon a time there was a story that was longer than anybody wanted it to be. " * 3
    provider.script += [
        says(write(1), thinking=THOUGHT),
        says(call("message", type="result", text=text), pause=True, thinking="A story."),
        says(write(2), thinking="Shorter."),
        result("Short."),
    ]
    run = world.post("Tell me a story.")
    thread = run.in_thread()
    until(lambda: any(chunk.kind == "text" for chunk in _streamed(run)))  # the thinking of the first call comes first
    services.post_message(world.session, world.owner, "Shorter, please.")
    thread.join(60)
    run.task.refresh_from_db()
    assert run.task.final_result["text"] == "Short."
    return run


def _streamed(run: Run) -> list[stream_buffer.Chunk]:
    return event_loop.submit(stream_buffer.store.chunks_of(run.task.pk)).result(10)


def question_and_approval(world: Any) -> Run:
    """Play calls that wait for a user: one is answered, one approved, one rejected, and one interrupted by a message."""
    ToolSetting.objects.create(name="file", approval="always")
    world.providers[0].script += [
        says(call("message", type="ask", text="Which one?", options=["a", "b"]), thinking="I ask."),
        says(write(1), thinking="I write."),
        says(write(2), write(3)),
        says(write(4)),
        result(),
    ]
    run = world.post("Write a file.")
    assert run.advance().waiting_for == "reply"
    services.reply(run.task, world.owner, "The second.")
    assert run.advance().waiting_for == "approval"
    services.decide(run.task, world.owner, "approved")
    assert run.advance().waiting_for == "approval"
    services.decide(run.task, world.owner, "rejected", note="not this one")
    assert run.advance().waiting_for == "approval"
    services.post_message(world.session, world.owner, "Leave it, please.")
    assert run.advance().state == "done"
    return run


def compaction(world: Any) -> Run:
    """Long results in a small window: the cut moves in the middle of the task."""
    world.model.context_window, world.model.max_output_tokens = 24_000, 2_000
    world.model.save()
    for number in range(12):
        world.providers[0].script += [says(write(number, "a long line " * 300), thinking=THOUGHT, words="And on.")]
    world.providers[0].script += [result()]
    run = world.post("Write long files.", max_iterations=60)
    assert run.advance().state == "done"
    assert ContextCut.objects.exists()
    return run


def failover(world: Any) -> Run:
    """The first provider fails for a while: the second continues with its history, and the first with that of both."""
    first, second = world.providers
    down, long_id = Said(status=503), Called(name="plan", arguments={"action": "advance"}, id="c" * 60)
    workspace_of(world.session).write_bytes("photo.jpg", picture(40, 40, kind="JPEG"))
    first.script += [says(write(1), write(2), thinking=THOUGHT, words="So."), down, down, down]
    second.script += [
        says(call("file", action="read", path="photo.jpg"), thinking="I am another one.", words="I go on."),
        says(write(3), write(4), thinking="Both."),
        says(long_id, thinking="An id as long as some gateways make them."),
    ]
    first.script += [says(write(5), thinking="I am back."), result("Both did it.")]
    run = world.post("Write five files.")
    assert run.advance().final_result["text"] == "Both did it."
    assert set(LLMLog.objects.filter(status="succeeded").values_list("provider", flat=True).distinct()) == {
        str(name) for name in world.model.routes.values_list("provider__name", flat=True)
    }
    return run


ALL: tuple[WholeTask, ...] = (
    many_turns,
    pictures,
    cut_arguments,
    interjection,
    question_and_approval,
    compaction,
)
