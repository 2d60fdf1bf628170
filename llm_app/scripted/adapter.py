"""The scripted provider as a protocol: the bytes are those of `openai_native`, only the wire is played."""

from collections.abc import AsyncGenerator

from llm_app.adapters.base import Endpoint
from llm_app.adapters.openai_native import OpenAINative
from llm_app.errors import BadRequest
from llm_app.scripted import demo, script
from llm_app.scripted.conversation import Conversation
from llm_app.scripted.reply import play
from llm_app.transport.sse import ServerEvent

_MODELS = {"demo": demo.next_reply, "script": script.next_reply}


class Scripted(OpenAINative):
    name = "scripted"
    label = "The demo and test provider that ships with this server"

    async def events(self, body: bytes, endpoint: Endpoint) -> AsyncGenerator[ServerEvent]:
        conversation = Conversation.from_body(body)
        if (model := _MODELS.get(conversation.model)) is None:
            raise BadRequest(f"the scripted provider has the models {', '.join(_MODELS)}, not {conversation.model}")
        prefix = f"call_{len(conversation.messages)}"
        async for event in play(model(conversation), prefix, prompt_tokens=len(body) // 4):
            yield event
