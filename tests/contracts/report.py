"""A report of what a provider really answered, as a JSON file: it is played against whole tasks over real HTTP.

name, source, must     its name, the public reports, and the outcome in words
protocol, base_url, model, route, price, max_output_tokens
                       the provider (PORT stands for the port of the fake) and fields of the route
second_route           another provider with the same fields, which is tried second
groups                 groups of tools that can be loaded: {name: {"tools": count, "description": characters}}
picture_bytes          the size of a picture that is attached to the first message
messages               what a person writes, one message after the other, each answered by a task
refuse_if              rules by which requests are refused: rule, args, response, from_answer (1 for the first)
answers_in_order       status, headers, body, end, times
answers_of             the report whose answers these are, in place of `answers_in_order`
expect                 what must come of it; the names are those of `CHECKS` in `report_checks`
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from llm_app.models import LogicalModel
from tasks_app import services
from tasks_app.models import Session, Task
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.contracts.report_rules import RULES
from tests.pictures import noise
from tests.provider import FakeProvider, Received, Reply, openai_result
from tests.tasks_app.engine.conftest import Run
from tools_app.models import McpServer, McpTool

FOLDER = Path(__file__).with_name("reports")
SILENCE_S = 1
_CUT = "chunked, but the connection ends without the last chunk"
_SILENT = "nothing more comes"


def load(name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    if other := report.get("answers_of"):
        report["answers_in_order"] = load(other)["answers_in_order"]
    return report


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A request and the rule that refused it, if one did."""

    received: Received
    refused_by: str = ""


class ReportedProvider:
    """A provider that refuses by the rules of a report, or gives its next answer."""

    def __init__(self, report: Mapping[str, Any], server: FakeProvider) -> None:
        self.report, self.server = report, server
        self.exchanges: list[Exchange] = []
        self.left = [answer for answer in report["answers_in_order"] for _ in range(answer.get("times", 1))]
        self._given = 0
        server.replies = [self._answer]

    @property
    def base_url(self) -> str:
        port = self.server.base_url.rsplit(":", 1)[1].removesuffix("/v1")
        return str(self.report["base_url"]).replace("PORT", port)

    def _answer(self, received: Received) -> Reply:
        for rule in self.report["refuse_if"]:
            is_active = self._given + 1 >= rule.get("from_answer", 1)
            if is_active and RULES[rule["rule"]](received, *rule["args"]):
                self.exchanges.append(Exchange(received=received, refused_by=rule["rule"]))
                return _reply(rule["response"])
        self.exchanges.append(Exchange(received=received))
        self._given += 1
        if not self.left:
            return Reply(status=HTTPStatus.NOT_IMPLEMENTED, chunks=[b"the report has no further answer"])
        return _reply(self.left.pop(0))


def _reply(answer: Mapping[str, Any]) -> Reply:
    headers = dict(answer["headers"])
    content_type, body = headers.pop("Content-Type", "text/plain"), answer["body"].encode()
    reply = Reply(chunks=[body], status=answer["status"], headers=headers, content_type=content_type)
    if answer.get("end") == _CUT:
        reply.headers["Transfer-Encoding"] = "chunked"
        reply.chunks = [b"%x\r\n%s\r\n" % (len(body), body)]
    elif answer.get("end") == _SILENT:
        reply.stall_at = 1
    return reply


class ReportedSession:
    """A session whose model is answered as in a report, and the tasks that its messages started."""

    def __init__(self, report: Mapping[str, Any], person: Any, first: FakeProvider, second: FakeProvider) -> None:
        self.report, self.owner = report, person
        self.providers = [ReportedProvider(report, first)]
        if other := report.get("second_route"):
            self.providers.append(ReportedProvider(other, second))
        output = report.get("max_output_tokens", 4_000)
        sizes = {"context_window": max(60_000, 2 * output), "max_output_tokens": output}
        self.model: LogicalModel = factories.LogicalModelFactory(**sizes)
        for priority, provider in enumerate(self.providers, 1):
            self._route(provider, priority)
        self.session: Session = factories.SessionFactory(owner=person, model=self.model)
        self.tasks: list[Task] = []
        for name, group in report.get("groups", {}).items():
            _group(name, **group)

    def _route(self, provider: ReportedProvider, priority: int) -> None:
        row = factories.ProviderFactory(
            protocol=provider.report["protocol"], base_url=provider.base_url, api_key="sk-a-key", timeout_s=SILENCE_S
        )
        fields = {"price": provider.report["price"]} if "price" in provider.report else {}
        factories.RouteFactory(
            model=self.model,
            provider=row,
            priority=priority,
            provider_model=provider.report["model"],
            **fields | provider.report["route"],
        )

    def play(self) -> None:
        """Write the messages one after the other. Each starts a task, which runs to its end."""
        for number, text in enumerate(self.report["messages"]):
            self._post(text, attachments=self._attachments() if number == 0 else [])

    def continue_elsewhere(self, server: FakeProvider) -> Task:
        """Write one more message after the session has got another model, which answers."""
        server.replies = [openai_result("Answered elsewhere.")]
        row = factories.ProviderFactory(protocol="openai_native", base_url=server.base_url, api_key="sk-another")
        self.session.model = factories.RouteFactory(provider=row, provider_model="another-model").model
        self.session.save(update_fields=["model"])
        return self._post("And now?")

    def _post(self, text: str, **options: Any) -> Task:
        delivered = services.post_message(self.session, self.owner, text, **options)
        assert delivered.task is not None, "the message went to an earlier task, which has not ended"
        self.tasks.append(Run(delivered.task).advance())
        return self.tasks[-1]

    def _attachments(self) -> list[str]:
        size = self.report.get("picture_bytes")
        if not size:
            return []
        workspace_of(self.session).write_bytes("picture.png", _picture(size))
        return ["picture.png"]


def _picture(size: int) -> bytes:
    """Return a picture of at least so many bytes."""
    side = 64
    while len(data := noise(side, side)) < size:
        side *= 2
    return data


def _group(name: str, tools: int, description: int = 20) -> None:
    """Create a group of tools: an MCP server that was listed, and is never started."""
    server = McpServer.objects.create(name=name, description="Some tools.", transport="stdio", command=["false"])
    words = ("Does something. " * description)[:description]
    McpTool.objects.bulk_create(
        McpTool(
            server=server,
            name=f"tool{number}",
            description=words,
            schema='{"type": "object", "properties": {}}',
            digest="a",
            confirmed="a",
        )
        for number in range(tools)
    )


Check = Callable[[ReportedSession, Any], None]
