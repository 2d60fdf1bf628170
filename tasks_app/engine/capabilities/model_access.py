"""Model access of tools, outside of the conversation: with the same budgets, redaction and logs as a step."""

import base64
from collections.abc import Callable, Sequence

from llm_app import errors
from llm_app.abilities import ModelsByAbility
from llm_app.call import Completion, Runner
from llm_app.redaction import Redactor
from llm_app.types import Message, Picture, Purpose
from tasks_app.record import PictureError, redactor_of, storable
from tasks_app.record.images import encode
from tasks_app.run import UnitOfWork, make_side_call
from tasks_app.runtime import event_loop, process
from tools_app.contract import capabilities
from tools_app.errors import ModelFailed

_SYSTEM = "A program asks you for a piece of text. Answer with that text only: no greeting, no remark about it."


class ModelAccess:
    """The capabilities of one tool call that need a model. `say` shows the person what the call waits for.

    `model` answers questions in words; `abilities` name the models for everything else.
    """

    def __init__(self, unit: UnitOfWork, *, model: str, abilities: ModelsByAbility, say: Callable[[str], None]) -> None:
        self._unit, self._model, self._abilities, self._say = unit, model, abilities, say

    async def ask(self, prompt: str, *, purpose: str, pictures: Sequence[capabilities.NamedPicture] = ()) -> str:
        """Implement `capabilities.AskModel`."""
        model = self._abilities.sees if pictures else self._model
        if pictures and not model:
            raise ModelFailed("No model that can see pictures is set up here.")

        encoded_pictures = await _encoded(pictures)

        def work(run: Runner) -> Completion:
            redactor = redactor_of(self._unit.session)
            content = redactor.redacted(storable(prompt))
            message = Message(role="user", content=content, pictures=encoded_pictures, masked_with=redactor.version)
            return self._complete(message, Purpose(purpose), model, redactor, run)

        completion = await process.in_thread(work)
        if not completion.result.content.strip():
            raise ModelFailed()
        return completion.result.content

    async def make(self, prompt: str, *, kind: capabilities.MediaKind) -> bytes:
        """Implement `capabilities.MakeMedia`."""
        model = self._abilities.makes_images if kind == "image" else self._abilities.makes_audio
        if not model:
            raise ModelFailed(f"No model that makes {kind} files is set up here.")

        def work(run: Runner) -> Completion:
            redactor = redactor_of(self._unit.session)
            message = Message(role="user", content=redactor.redacted(storable(prompt)), masked_with=redactor.version)
            return self._complete(message, Purpose.GENERATE, model, redactor, run, system="")

        completion = await process.in_thread(work)
        try:
            return base64.b64decode(completion.result.content, validate=True)
        except ValueError as error:
            raise ModelFailed() from error

    def _complete(
        self, message: Message, purpose: Purpose, model: str, redactor: Redactor, run: Runner, system: str = _SYSTEM
    ) -> Completion:
        try:
            return make_side_call(
                self._unit,
                [message],
                run,
                purpose=purpose,
                redactor=redactor,
                model=model,
                system=system,
                on_wait=self._say_on_loop,
            )
        except errors.LLMError as error:
            raise ModelFailed(error.sentence) from error
        except errors.BudgetExceeded as error:
            raise ModelFailed(str(error)) from error

    def _say_on_loop(self, text: str) -> None:
        event_loop.get().call_soon_threadsafe(self._say, f"{text}\n")


async def _encoded(pictures: Sequence[capabilities.NamedPicture]) -> tuple[Picture, ...]:
    """Return the pictures in the form that models take.

    Raises: ModelFailed.
    """
    try:
        return tuple([await encode(picture.name, picture.data) for picture in pictures])
    except PictureError as error:
        raise ModelFailed(f"The picture cannot be shown to a model: {error}.") from error
