"""Refusals of requests by people and programs. The docstring of each class is its message."""


class Refusal(Exception):
    """This cannot be done now."""

    status = 409  # HTTP status in REST
    retry_after: int | None = None  # seconds, if a later attempt may succeed

    def __init__(self, detail: str = "", *, field: str = "") -> None:
        super().__init__(detail or " ".join((self.__doc__ or "").split()))
        self.field = field


class DiskFull(Refusal):
    """The server's disk is nearly full, so nothing new is taken. Delete files or sessions, or ask an administrator."""

    status, retry_after = 503, 60


class FilesQuotaFull(Refusal):
    """Your sessions' files take up all the space that you may use. Delete files or sessions that you no longer need."""


class SessionsQuotaFull(Refusal):
    """There would be more sessions than you may have. Delete some that you no longer need."""


class NothingToAnswer(Refusal):
    """The task is not waiting for this answer: it was already given, or the task has moved on."""


class MayNotDecide(Refusal):
    """This call is waiting for someone else's decision."""

    status = 403


class OnlyThisCall(Refusal):
    """This tool needs a second person: each of its calls is approved separately. Approve with the scope “once”."""

    status = 422


class TaskRunning(Refusal):
    """A task is still running here. Stop it first, or send a message to it."""


class PartOfAnother(Refusal):
    """This session belongs to a task delegated in another one. Move, share or delete that one: this goes with it."""


class AgentWithheld(Refusal):
    """You may not use this session's agent. Choose another one above, then send this again."""


class SchemaTooLate(Refusal):
    """The schema of a running task cannot change. Send this with the mode “queue”, or after the task has ended."""


class WorkflowTooLate(Refusal):
    """A workflow needs its own task. Send this message with the mode “queue”, or after the task has ended."""


class InvalidMessage(Refusal):
    """The message is empty. Write something, or attach a file."""

    status = 422


class MessageRead(Refusal):
    """This message is no longer waiting: the agent has it, or it was removed. Write another one."""


class MessageTooLong(Refusal):
    """The message is longer than 1 MiB. Attach it as a file instead."""

    status = 413


class SecretRefused(Refusal):
    """This value cannot be stored as a secret."""

    status = 422


class SecretNameTaken(Refusal):
    """A secret with this name already exists. Delete it first."""
