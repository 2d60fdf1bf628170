"""Pictures in requests: named, in the place that each protocol has for them, or replaced by a text for blind models."""

import json

import pytest

from llm_app.adapters.base import RouteParameters
from llm_app.protocols import adapter_for
from llm_app.types import Message, Picture, Prompt, ToolCall, ToolSpec

SEES = RouteParameters(model="m", max_tokens=100, takes_images=True)
BLIND = RouteParameters(model="m", max_tokens=100)
CHART = Picture(path="chart.png", media_type="image/png", width=800, height=600, data="Q0hBUlQ=")
PHOTO = Picture(path="photo.jpg", media_type="image/jpeg", width=40, height=30, data="UEhPVE8=")
CALL = ToolCall(id="call_1", name="file", arguments='{"action":"read","path":"chart.png"}')
PROTOCOLS = ["openai_native", "openai_xml", "litellm", "json_schema", "anthropic_native", "anthropic_xml"]


def conversation():
    return [
        Message(role="user", content="Look.", pictures=(CHART, PHOTO)),
        Message(role="user", content="<system_reminder>\nToday\n</system_reminder>"),
        Message(role="assistant", tool_call=CALL),
        Message(role="tool", content="chart.png is a picture.", tool_call_id="call_1", pictures=(CHART,)),
        Message(role="user", content="Go on."),
    ]


def body(protocol, parameters, messages=None):
    tools = [ToolSpec(name="file", description="Files.", parameters={"type": "object", "properties": {}})]
    prompt = Prompt(system="You.", tools=tools, messages=conversation() if messages is None else messages)
    return json.loads(adapter_for(protocol).body(prompt, parameters))


def sent(protocol, parameters, messages=None):
    return [message for message in body(protocol, parameters, messages)["messages"] if message["role"] != "system"]


def openai(picture):
    url = f"data:{picture.media_type};base64,{picture.data}"
    return [{"type": "text", "text": label(picture)}, {"type": "image_url", "image_url": {"url": url}}]


def anthropic(picture):
    source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
    return [{"type": "text", "text": label(picture)}, {"type": "image", "source": source}]


def label(picture):
    return f"[picture: {picture.path}, {picture.width}×{picture.height}]"


@pytest.mark.parametrize("protocol", ["openai_native", "litellm", "json_schema"])
def test_openai_gets_pictures_of_a_user_as_parts_of_the_message(protocol):
    words = {"type": "text", "text": "Look."}
    assert sent(protocol, SEES)[0] == {"role": "user", "content": [words, *openai(CHART), *openai(PHOTO)]}


@pytest.mark.parametrize("protocol", ["openai_native", "litellm"])
def test_openai_gets_pictures_of_a_result_right_after_it(protocol):
    call, result, pictures, onward = sent(protocol, SEES)[2:]
    assert call["tool_calls"][0]["id"] == "call_1"
    assert result == {"role": "tool", "content": "chart.png is a picture.", "tool_call_id": "call_1"}
    assert pictures == {"role": "user", "content": openai(CHART)}
    assert onward == {"role": "user", "content": "Go on."}


def test_responses_get_pictures_as_parts_of_messages_and_results():
    person, _, _, result, _ = body("openai_responses", SEES)["input"]
    chart = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{CHART.data}"}
    assert person["content"][:3] == [_text("Look."), _text(label(CHART)), chart]
    assert result["output"] == [_text("chart.png is a picture."), _text(label(CHART)), chart]


def _text(text):
    return {"type": "input_text", "text": text}


def test_results_as_text_are_followed_by_their_pictures():
    assert sent("json_schema", SEES)[3]["content"][1:] == openai(CHART)
    assert sent("openai_xml", SEES)[3]["content"][1:] == openai(CHART)
    assert sent("anthropic_xml", SEES)[3]["content"][1:] == anthropic(CHART)


@pytest.mark.parametrize("protocol", ["anthropic_native", "anthropic_xml"])
def test_anthropic_gets_pictures_of_a_user_as_blocks(protocol):
    words = {"type": "text", "text": "Look."}
    assert sent(protocol, SEES)[0] == {"role": "user", "content": [words, *anthropic(CHART), *anthropic(PHOTO)]}


def test_anthropic_gets_pictures_of_a_result_inside_it():
    (result,) = sent("anthropic_native", SEES)[3]["content"]
    words = {"type": "text", "text": "chart.png is a picture."}
    assert result == {"type": "tool_result", "tool_use_id": "call_1", "content": [words, *anthropic(CHART)]}


@pytest.mark.parametrize("number", [1, 4])
def test_anthropics_cache_point_may_mark_a_message_with_pictures(number):
    last = sent("anthropic_native", SEES, conversation()[:number])[-1]["content"][-1]
    assert last["type"] in ("image", "tool_result")
    assert last["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_without_vision_gets_a_placeholder(protocol):
    messages = sent(protocol, BLIND)
    text = json.dumps(messages, ensure_ascii=False)
    assert "[picture: photo.jpg, 40×30; this model cannot see pictures]" in text
    assert text.count("[picture: chart.png, 800×600; this model cannot see pictures]") == 2
    assert CHART.data not in text
    assert len(messages) == 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_picture_without_text_is_a_message(protocol):
    (message,) = sent(protocol, SEES, [Message(role="user", pictures=(CHART,))])
    assert len(message["content"]) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_routes_with_and_without_vision_share_no_bytes(protocol):
    messages = conversation()
    seen, unseen = sent(protocol, SEES, messages), sent(protocol, BLIND, messages)
    assert seen != unseen
    assert sent(protocol, SEES, messages) == seen


def test_the_log_of_a_route_without_vision_is_unchanged():
    assert BLIND.as_json() == {"model": "m", "max_tokens": 100}
    assert SEES.as_json() == {"model": "m", "max_tokens": 100, "takes_images": True}


def test_alternating_roles_merge_pictures_and_text_of_a_user():
    parameters = RouteParameters(model="m", max_tokens=100, takes_images=True, quirks={"merge_user_messages": True})
    first, call, result, after = sent("openai_native", parameters)
    reminder = {"type": "text", "text": "<system_reminder>\nToday\n</system_reminder>"}
    assert first["content"] == [{"type": "text", "text": "Look."}, *openai(CHART), *openai(PHOTO), reminder]
    assert [call["role"], result["role"]] == ["assistant", "tool"]
    assert after == {"role": "user", "content": [*openai(CHART), {"type": "text", "text": "Go on."}]}


def test_alternating_roles_merge_text_before_pictures():
    parameters = RouteParameters(model="m", max_tokens=100, takes_images=True, quirks={"merge_user_messages": True})
    messages = [Message(role="user", content='One "quoted"'), Message(role="user", pictures=(CHART,))]
    (message,) = sent("openai_native", parameters, messages)
    assert message["content"] == [{"type": "text", "text": 'One "quoted"'}, *openai(CHART)]
