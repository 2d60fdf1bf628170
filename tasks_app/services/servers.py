"""Servers that background commands of a session ran: the reason why one does not answer, and its next start."""

import re
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Q

from tasks_app.models import ContextEntry, ContextType, Mode, Session
from tasks_app.models.errors import Refusal
from tasks_app.record.item import Item
from tasks_app.record.transcript import call_item
from tasks_app.runtime import process
from tasks_app.services.messages import Delivered, post_message
from tools_app import held_resources

_MAX_RESULTS = 50  # newest results of background commands that are searched
_ENDING = re.compile(r"\b[Jj]ob (\d++) (?:ended with exit code (-?\d++)|(was ended)|(is gone)|was ([^;\]\n]{1,200}))")
_IDLE_OR_RESTARTED = "Its command ended: the session was not used for half an hour, or this site was restarted."


class NoServerCommand(Refusal):
    """No background command of this session is known to serve this port. Ask the agent to start the server."""


@dataclass(frozen=True, kw_only=True)
class StoppedServer:
    """A server that does not answer. `command` is the background command that ran it, or '' if none is recorded."""

    reason: str
    command: str = ""


def stopped_server(session: Session, port: int) -> StoppedServer:
    """Return why nothing answers on a port, and the command to start again."""
    item = _start_of_server(session, port)
    if item is None:
        return StoppedServer(reason=f"No background command of this session is known to serve port {port}.")
    return StoppedServer(reason=_reason(session, item, port), command=_command(item))


def start_again(session: Session, author: Any, port: int) -> Delivered:
    """Ask the agent, as the person, to run the recorded command again. The call is checked like any other.

    Raises NoServerCommand, and what `post_message` raises.
    """
    item = _start_of_server(session, port)
    if item is None:
        raise NoServerCommand()
    text = (
        f"Start the server on port {port} again, with the same command in the background:\n```\n{_command(item)}\n```"
    )
    return post_message(session, author, text, mode=Mode.QUEUE)


def _start_of_server(session: Session, port: int) -> Item | None:
    """Return the newest call whose background command served the port, or names it."""
    results = ContextEntry.objects.in_session(session).filter(
        Q(metadata__has_key="job") | Q(metadata__has_key="ports"), context_type=ContextType.TOOL_RESULT
    )
    number = None  # of a job whose later output announced the port
    for result in results.reverse()[:_MAX_RESULTS]:
        job, ports = result.metadata.get("job"), result.metadata.get("ports") or ()
        if job is None and port not in ports:
            continue
        if number is not None and job != number:
            continue
        item = call_item(session, result.tool_call_id)
        if item is None:
            continue
        if job is None:
            number = item.arguments.get("id", item.arguments.get("number"))
        elif (job == number or port in item.ports) and _command(item):
            return item
    return None


def _command(item: Item) -> str:
    arguments = orjson.loads(item.log.arguments) if item.log and item.log.arguments else item.arguments
    return str(arguments.get("command", ""))


def _reason(session: Session, item: Item, port: int) -> str:
    assert item.result is not None
    number = item.result.metadata["job"]
    texts = ContextEntry.objects.in_session(session).filter(
        seq__gte=item.result.seq,
        context_type__in=(ContextType.TOOL_RESULT, ContextType.SYSTEM_REMINDER),
        content__icontains=f"job {number} ",
    )
    notice = session.held.get(f"{held_resources.ENDED} {number}", "")
    for text in (notice, *texts.reverse().values_list("content", flat=True)[:_MAX_RESULTS]):
        for ending in _ENDING.finditer(text):
            if int(ending[1]) == number:
                return _ending_sentence(*ending.groups()[1:])
    name = f"{held_resources.JOB} {number}"
    if name not in session.held:
        return _IDLE_OR_RESTARTED
    if process.is_dead(session.held_by):
        return "This site was restarted, which ended its command."
    if session.held_by == process.name() and name not in held_resources.resources_of(str(session.pk)):
        return "Its command ended because the session was not used for half an hour."
    return f"Its command was started, but nothing answers on port {port}."


def _ending_sentence(exit_code: str | None, was_ended: str | None, is_gone: str | None, killed: str | None) -> str:
    if exit_code is not None:
        return f"Its command ended with exit code {exit_code}."
    if was_ended:
        return "The agent ended its command."
    return _IDLE_OR_RESTARTED if is_gone else f"Its command was {(killed or '').rstrip('. ')}."
