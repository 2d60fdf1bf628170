"""Pictures that people attach, and those that tools find, reach a model that can see; the record keeps them."""

import pytest

from llm_app.models import Blob, LLMLog, Route
from tasks_app import services
from tasks_app.record import chain, images
from tasks_app.workspace.folders import workspace_of
from tests.pictures import picture
from tests.provider import openai_call, openai_result
from tests.tasks_app.engine.conftest import call, result
from tools_app.child_process.parent import ChildLimits

READ = {"action": "read", "path": "chart.png"}


@pytest.fixture(autouse=True)
def _nothing_encoded_yet(monkeypatch):
    monkeypatch.setattr(images, "_cache", {})


@pytest.fixture
def put(http_session):
    """Write a file to the workspace."""
    return workspace_of(http_session).write_bytes


@pytest.fixture
def _sees(http_session):
    Route.objects.update(takes_images=True)


@pytest.mark.usefixtures("_sees")
def test_an_attached_picture_is_seen(ask_http, http_provider, put):
    put("chart.png", picture(80, 60))
    http_provider.replies = [openai_result()]
    ask_http("What is this?", attachments=["chart.png"]).advance()
    words, label, image = http_provider.received[0].body["messages"][1]["content"]
    assert words["text"] == "What is this?\n\n[attached file: chart.png]"
    assert label["text"] == "[picture: chart.png, 80×60]"
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


@pytest.mark.usefixtures("_sees")
def test_a_picture_that_the_file_tool_reads_is_seen_after_its_result(ask_http, http_provider, put):
    put("chart.png", picture(80, 60))
    http_provider.replies = [openai_call("file", READ), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    result, pictures = http_provider.received[1].body["messages"][-2:]
    assert (result["role"], pictures["role"]) == ("tool", "user")
    assert result["content"].startswith("chart.png is a picture (image/png, ")
    assert pictures["content"][1]["type"] == "image_url"


def test_a_model_that_cannot_see_is_informed(ask_http, http_provider, put):
    put("chart.png", picture(80, 60))
    http_provider.replies = [openai_call("file", READ), openai_result()]
    ask_http("Look.", attachments=["chart.png"]).advance()
    messages = http_provider.received[1].body["messages"]
    assert "image_url" not in str(messages)
    told = [
        m["content"] for m in messages if "[picture: chart.png, 80×60; this model cannot see" in (m["content"] or "")
    ]
    assert len(told) == 2


@pytest.mark.usefixtures("_sees")
def test_the_log_says_if_a_route_sees_pictures(ask_http, http_provider, put):
    http_provider.replies = [openai_result()]
    ask_http().advance()
    assert LLMLog.objects.get().parameters["takes_images"] is True


@pytest.mark.usefixtures("_sees")
def test_a_sent_picture_stays_when_the_file_changes(ask_http, http_provider, put):
    put("chart.png", picture(80, 60))
    http_provider.replies = [openai_call("file", {"action": "delete", "path": "chart.png"}), openai_result()]
    ask_http("Look.", attachments=["chart.png"]).advance()
    first, second = (request.body["messages"][1] for request in http_provider.received)
    assert first == second
    assert first["content"][2]["type"] == "image_url"


@pytest.mark.usefixtures("_sees")
def test_the_next_request_begins_with_the_bytes_of_the_one_before(ask_http, http_provider, put):
    put("chart.png", picture(80, 60))
    http_provider.replies = [openai_call("file", READ), openai_result()]
    ask_http("Look.", attachments=["chart.png"]).advance()
    first, second = (request.raw for request in http_provider.received)
    assert second.startswith(first[:-2])


def test_the_record_names_the_picture_and_a_blob_holds_it_once(play):
    run = play(call("file", action="read", path="chart.png"), call("file", action="read", path="chart.png"), result())
    workspace_of(run.task.session).write_bytes("chart.png", picture(80, 60))
    run.advance()
    first, second = (entry for entry in run.entries if entry.images)
    assert first.images == second.images
    (named,) = first.pictures
    assert {key: named[key] for key in ("media_type", "path", "width", "height")} == {
        "media_type": "image/png",
        "path": "chart.png",
        "width": 80,
        "height": 60,
    }
    assert Blob.objects.get(pk=named["sha256"]).content.startswith("iVBOR")


def test_the_chain_covers_pictures_and_is_the_old_one_without_them(play):
    run = play(call("file", action="read", path="chart.png"), result())
    workspace_of(run.task.session).write_bytes("chart.png", picture())
    run.advance()
    heads = [""] + [entry.hash for entry in run.entries]
    assert [chain.key().link(entry, head) for entry, head in zip(run.entries, heads, strict=False)] == heads[1:]
    position = next(number for number, entry in enumerate(run.entries) if entry.images)
    changed = run.entries[position]
    changed.images = changed.images.replace("chart.png", "other.png")
    with_other = chain.key().link(changed, heads[position])
    changed.images = ""
    assert len({with_other, chain.key().link(changed, heads[position]), heads[position + 1]}) == 3


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n\x1a\nand then nothing", "it is damaged"),
        (picture(9000, 9000, mode="1", color=0), "16 million pixels"),
    ],
    ids=["damaged", "bomb"],
)
def test_a_picture_that_cannot_be_shown_says_why_in_the_result(play, data, reason):
    run = play(call("file", action="read", path="chart.png"), result())
    workspace_of(run.task.session).write_bytes("chart.png", data)
    assert run.advance().state == "done"
    assert f"[chart.png cannot be shown: {reason}" in run.results()[0][1].replace("it has more than ", "")


def test_no_picture_is_decoded_in_the_server_itself(play, owner, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the server decodes a picture")

    monkeypatch.setattr("PIL.Image.open", refuse)
    run = play(call("message", type="ask", text="Which one?"), call("file", action="read", path="a.png"), result())
    run.advance()
    for name in ("a.png", "b.png"):
        workspace_of(run.task.session).write_bytes(name, picture(80, 60))
    services.post_message(run.task.session, owner, "This.", attachments=["b.png"])
    assert run.advance().state == "done"
    assert [entry.pictures[0]["path"] for entry in run.entries if entry.images] == ["b.png", "a.png"]


def test_a_slow_picture_is_not_shown(play, monkeypatch):
    monkeypatch.setattr("tasks_app.record.images._LIMITS", ChildLimits(wall_s=0.01))
    run = play(call("file", action="read", path="chart.png"), result())
    workspace_of(run.task.session).write_bytes("chart.png", picture())
    assert run.advance().state == "done"
    assert "[chart.png cannot be shown: it takes too much time or memory]" in run.results()[0][1]


def test_a_damaged_attachment_is_a_file_like_any_other(ask_http, http_provider, put):
    put("chart.png", b"\x89PNG\r\n\x1a\nand then nothing")
    http_provider.replies = [openai_result()]
    run = ask_http("Mend it.", attachments=["chart.png"])
    assert run.advance().state == "done"
    assert run.entries[0].images == ""
    assert run.entries[0].content == "Mend it.\n\n[attached file: chart.png]"


@pytest.mark.usefixtures("_sees")
def test_an_answer_can_have_a_picture(ask_http, http_provider, put, owner):
    http_provider.replies = [
        openai_call("message", {"type": "ask", "text": "What does it look like?"}),
        openai_result(),
    ]
    run = ask_http()
    run.advance()
    put("chart.png", picture(80, 60))
    assert services.post_message(run.task.session, owner, "So.", attachments=["chart.png"]).delivered_as == "reply"
    run.advance()
    assert http_provider.received[1].body["messages"][-1]["content"][1]["type"] == "image_url"


@pytest.mark.usefixtures("_sees")
def test_a_queued_message_keeps_the_picture_that_was_attached(ask_http, http_provider, put, owner):
    put("chart.png", picture(80, 60))
    http_provider.replies = [openai_result()]
    run = ask_http()
    services.post_message(run.task.session, owner, "And this?", attachments=["chart.png"], mode="queue")
    put("chart.png", picture(10, 10))
    run.advance()
    entry = next(entry for entry in run.entries if entry.images)
    assert (entry.content.startswith("And this?"), entry.pictures[0]["width"]) == (True, 80)


def test_only_some_of_many_attachments_are_shown(play):
    run = play(result())
    workspace = workspace_of(run.task.session)
    names = [f"{number}.png" for number in range(12)]
    for name in names:
        workspace.write_bytes(name, picture())
    services.post_message(run.task.session, run.task.started_by, "Look.", attachments=names)
    run.advance()
    assert max(len(entry.pictures) for entry in run.entries) == 10
    assert any("[attached file: 11.png]" in entry.content for entry in run.entries)


def test_scripted_models_read_text_with_pictures(play):
    Route.objects.update(takes_images=True)
    run = play(call("file", action="read", path="chart.png"), result("Seen."))
    workspace_of(run.task.session).write_bytes("chart.png", picture())
    assert run.advance().final_result["text"] == "Seen."


async def test_a_recently_encoded_picture_is_cached(monkeypatch):
    made = []

    async def answer_of(*arguments):
        made.append(arguments)
        return {"picture": {"media_type": "image/png", "width": 1, "height": 1, "data": "x" * 10}}

    monkeypatch.setattr(images, "answer_of", answer_of)
    monkeypatch.setattr(images, "_CACHE_CHARS", 25)
    found = [await images.encode(f"{name}.png", name.encode()) for name in "abacab"]
    assert [picture.path for picture in found] == ["a.png", "b.png", "a.png", "c.png", "a.png", "b.png"]
    assert len(made) == 4, "b was forgotten when c came"
