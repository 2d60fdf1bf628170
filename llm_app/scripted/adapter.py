"""The scripted provider as a protocol. Its requests are those of `openai_native`; the responses are generated.

The model `script` plays the list of replies in a user's message:

    ```script
    - {call: shell, arguments: {command: "ls"}, thinking: "I look around."}
    - {call: message, arguments: {type: result, text: "Done."}}
    ```

An item is a text (a reply without a call) or a mapping with `thinking`, `content`, `call` and `arguments` or a list
`calls` of such pairs, and `delay`, `pace`, `stall` in seconds. Arguments given as text are sent unchanged. A script
that contains other scripts needs a longer fence of backticks than they have.
"""

import json
import re
from collections.abc import AsyncGenerator, Generator
from typing import Any

import yaml

from llm_app.adapters.base import Endpoint
from llm_app.adapters.openai_native import OpenAINative
from llm_app.errors import BadRequest
from llm_app.scripted import demo
from llm_app.scripted.conversation import ScriptedConversation
from llm_app.scripted.reply import ScriptedCall, ScriptedReply, play
from llm_app.transport.sse import ServerEvent
from llm_app.transport.waiting import iterate_on_loop
from llm_app.types import Runner

_BLOCK = re.compile(r"(?<!`)(`{3,}+)script\n(.*?)\1", re.DOTALL)
_END_REPLY = {"call": "message", "arguments": {"type": "result", "text": "The script has ended."}}


def _next_scripted_reply(conversation: ScriptedConversation) -> ScriptedReply:
    """Return the next reply of the newest script in the conversation.

    Raises: BadRequest if the script is invalid.
    """
    for position, text in reversed(conversation.user_messages()):
        if block := _BLOCK.search(text):
            return _parse_reply(_script_item(block[2], conversation.turns_after(position)))
    return _parse_reply(_END_REPLY)


def _script_item(text: str, number: int) -> Any:
    try:
        items = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadRequest(f"the script is not valid YAML: {error}") from error
    if not isinstance(items, list):
        raise BadRequest("the script is not a list")
    return items[number] if number < len(items) else _END_REPLY


def _parse_reply(item: Any) -> ScriptedReply:
    if isinstance(item, str):
        return ScriptedReply(content=item)
    calls = []
    for call in item.get("calls") or ([item] if "call" in item else []):
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls.append(ScriptedCall(name=call["call"], arguments=text))
    return ScriptedReply(
        thinking=item.get("thinking", ""),
        content=item.get("content", ""),
        calls=tuple(calls),
        delay=item.get("delay", 0),
        pace=item.get("pace", 0),
        stall=item.get("stall", 0),
    )


_MODELS = {"demo": demo.next_reply, "script": _next_scripted_reply}


class Scripted(OpenAINative):
    name = "scripted"
    label = "The demo and test provider that ships with this server"

    def events(self, body: bytes, endpoint: Endpoint, run: Runner) -> Generator[ServerEvent]:
        return iterate_on_loop(self._generate(body), run)

    async def _generate(self, body: bytes) -> AsyncGenerator[ServerEvent]:
        """Yield the events at the pace of the script.

        Raises: BadRequest if the script is invalid.
        """
        conversation = ScriptedConversation.from_body(body)
        if (model := _MODELS.get(conversation.model)) is None:
            raise BadRequest(f"the scripted provider has the models {', '.join(_MODELS)}, not {conversation.model}")
        prefix = f"call_{len(conversation.messages)}"
        async for event in play(model(conversation), prefix, prompt_tokens=len(body) // 4):
            yield event
