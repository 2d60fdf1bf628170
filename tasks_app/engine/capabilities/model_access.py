"""A tool asks a model, outside of the conversation: with the same budgets, redaction and logs as a step."""

import base64
from collections.abc import Callable, Sequence

from llm_app import errors
from llm_app.call.llm_call import Completion, Runner
from llm_app.redaction.redactor import Redactor
from llm_app.types import Message, Picture, Purpose
from tasks_app.events import event_loop
from tasks_app.record import redactor_of
from tasks_app.record.append import storable
from tasks_app.record.images import UnreadablePicture, encoded
from tasks_app.run import TaskContext, ask_aside
from tasks_app.runtime import threads
from tools_app.contract import capabilities
from tools_app.errors import ModelFailed

_SYSTEM = "A program asks you for a piece of text. Answer with that text only: no greeting, no remark about it."


class ModelAccess:
    """The capabilities of one tool call that need a model; `say` shows the person what it waits for.

    `model` answers what is asked in words; without one, the task's own.
    """

    def __init__(self, context: TaskContext, say: Callable[[str], None], *, model: str = "") -> None:
        self._context, self._say, self._model = context, say, model

    async def ask(self, prompt: str, *, purpose: str, pictures: Sequence[capabilities.Picture] = ()) -> str:
        """`capabilities.AskModel`."""
        session = self._context.session
        model = self._context.settings.abilities.sees if pictures else self._model or self._context.model
        if pictures and not model:
            raise ModelFailed("No model that can see pictures is set up here.")

        seen = await _encoded(pictures)

        def work(run: Runner) -> Completion:
            redactor = redactor_of(session)
            content = redactor.redacted(storable(prompt))
            message = Message(role="user", content=content, pictures=seen, masked_with=redactor.version)
            return self._complete(message, Purpose(purpose), model, redactor, run)

        completion = await threads.in_thread(work)
        if not completion.result.content.strip():
            raise ModelFailed()
        return completion.result.content

    async def make(self, prompt: str, *, kind: capabilities.MediaKind) -> bytes:
        """`capabilities.MakeMedia`."""
        able = self._context.settings.abilities
        model = able.makes_images if kind == "image" else able.makes_audio
        if not model:
            raise ModelFailed(f"No model that makes {kind} files is set up here.")

        def work(run: Runner) -> Completion:
            redactor = redactor_of(self._context.session)
            message = Message(role="user", content=redactor.redacted(storable(prompt)), masked_with=redactor.version)
            return self._complete(message, Purpose.GENERATE, model, redactor, run, system="")

        completion = await threads.in_thread(work)
        try:
            return base64.b64decode(completion.result.content, validate=True)
        except ValueError as error:
            raise ModelFailed() from error

    def _complete(
        self, message: Message, purpose: Purpose, model: str, redactor: Redactor, run: Runner, system: str = _SYSTEM
    ) -> Completion:
        try:
            return ask_aside(
                self._context,
                [message],
                run,
                purpose=purpose,
                redactor=redactor,
                model=model,
                system=system,
                say=self._say_on_loop,
            )
        except errors.LLMError as error:
            raise ModelFailed(error.sentence) from error
        except errors.BudgetExceeded as error:
            raise ModelFailed(str(error)) from error

    def _say_on_loop(self, words: str) -> None:
        event_loop.get().call_soon_threadsafe(self._say, f"{words}\n")


async def _encoded(shown: Sequence[capabilities.Picture]) -> tuple[Picture, ...]:
    """As models take them. Raises ModelFailed."""
    try:
        return tuple([await encoded(picture.name, picture.data) for picture in shown])
    except UnreadablePicture as error:
        raise ModelFailed(f"The picture cannot be shown to a model: {error}.") from error
