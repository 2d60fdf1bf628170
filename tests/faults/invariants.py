"""Invariants after any fault, checked from outside: over REST, on the page, in the database and in the tools' log."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener
from uuid import UUID

from tests.faults.deployment import Deployment
from tests.faults.load import Job, states
from tests.faults.tool_log import Run
from tests.server import PASSWORD

Entry = Mapping[str, Any]
PAGES = 5  # pages to check: one costs more than all other checks
FIELDS = ("seq", "context_type", "content", "tool_call_id")


def check(deployment: Deployment, jobs: Sequence[Job], *, verify: bool = True) -> None:
    """Fail with all violated invariants."""
    found = list(violations(deployment, jobs))
    if verify and (said := deployment.replay_verifies()):
        found.append(f"replay --verify: {said}")
    assert not found, "\n".join(found) + "\n" + deployment.server.output.read_text()[-8000:]


def violations(deployment: Deployment, jobs: Sequence[Job]) -> Iterator[str]:
    runs, rows = deployment.tools.runs(), states(deployment, jobs)
    for job in jobs:
        entries = deployment.server.entries(job.session)
        where = f"{job.token} (session {job.session}): "
        yield from (where + said for said in _of_record(entries))
        yield from (where + said for said in _of_calls(entries, runs))
        yield from (where + said for said in _of_messages(job, entries))
        yield from (where + said for said in _of_database(deployment, job, entries))
        yield from (where + said for said in _of_state(deployment, job, rows[job.token]))
    yield from _of_pages(deployment, jobs[-PAGES:])


def _of_record(entries: Sequence[Entry]) -> Iterator[str]:
    """Check that each call has one result, directly after it, and that sequence numbers have no gap."""
    if [entry["seq"] for entry in entries] != list(range(1, len(entries) + 1)):
        yield f"the numbers have gaps: {[entry['seq'] for entry in entries]}"
    calls = Counter(entry["tool_call"]["id"] for entry in entries if entry["tool_call"])
    results = Counter(entry["tool_call_id"] for entry in entries if entry["context_type"] == "tool_result")
    if calls != results or any(count > 1 for count in calls.values()):
        yield f"calls and results differ: {calls} {results}"
    seen = [entry for entry in entries if entry["in_context"]]
    for before, after in zip(seen, seen[1:], strict=False):
        if before["tool_call"] and after["tool_call_id"] != before["tool_call"]["id"]:
            yield f"entry {after['seq']} comes between a call and its result"


def _of_calls(entries: Sequence[Entry], runs: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """Check that a moderate or dangerous call ran at most once, and that recorded results are those of the newest run.

    A worker that lost its lease has therefore written no result.
    """
    results = {entry["tool_call_id"]: entry for entry in entries if entry["context_type"] == "tool_result"}
    for entry in entries:
        call = entry["tool_call"]
        if call is None or not call["name"].startswith("probe_"):
            continue
        mark, result = call["arguments"]["mark"], results.get(call["id"])
        ran = runs.get(mark, ())
        if call["name"] != "probe_safe" and len(ran) > 1:
            yield f"{call['name']} {mark} ran {len(ran)} times: {ran}"
        has_succeeded = result is not None and result["metadata"]["status"] == "succeeded"
        if has_succeeded and (not ran or not ran[-1].has_ended or f"run {ran[-1].run}" not in result["content"]):
            yield f"the result of {mark} is not that of its newest run: {result['content']!r}, {ran}"


def _of_messages(job: Job, entries: Sequence[Entry]) -> Iterator[str]:
    said = Counter(entry["content"].partition("\n")[0] for entry in entries if entry["context_type"] == "user_message")
    replies = Counter(entry["content"].partition("\n")[0] for entry in entries if entry["tool_call_id"])
    for token in job.said:
        if said[token] + replies[token] != 1:
            yield f"the message {token} is there {said[token] + replies[token]} times"
    if twice := [token for token, count in said.items() if count > 1]:
        yield f"messages are there twice: {twice}"


def _of_database(deployment: Deployment, job: Job, entries: Sequence[Entry]) -> Iterator[str]:
    query = f"SELECT {', '.join(FIELDS)} FROM task_context WHERE session_id = ? ORDER BY seq"
    stored = deployment.rows(query, deployment.key(job.session))
    shown = [{name: entry[name] or "" for name in FIELDS} for entry in entries]
    if [{name: row[name] or "" for name in FIELDS} for row in stored] != shown:
        yield "REST shows another record than the database has"


def _of_state(deployment: Deployment, job: Job, row: Mapping[str, Any]) -> Iterator[str]:
    if not row["state"]:
        yield "it has no task"
        return
    task = deployment.server.task(str(UUID(str(row["id"]))))
    if (task["state"], task["waiting_for"]) != (row["state"], row["waiting_for"]):
        yield f"shown as {task['state']}, {task['waiting_for']}; it is {row['state']}, {row['waiting_for']}"
    if row["state"] == "done" and task["final_result"]["text"] != job.answer:
        yield f"its result is {task['final_result']['text']!r}"
    if row["state"] == "failed" and not job.may_fail:
        yield f"it failed: {task['failure']}"


def _of_pages(deployment: Deployment, jobs: Sequence[Job]) -> Iterator[str]:
    """Check that the page shows each message and the answer once."""
    browser = signed_in(deployment)
    for job in jobs:
        with browser.open(f"{deployment.server.base_url}/s/{job.session}/", timeout=60) as response:
            page = unescape(response.read().decode())
        entries = re.split(r"<article ", page)[1:]
        for token in job.said:
            if sum(token in entry for entry in entries) != 1:  # an answer is part of its question's card
                yield f"{job.token}: its page does not show the message {token} once"
        is_done = states(deployment, [job])[job.token]["state"] == "done"
        answers = sum(job.answer in entry and " result" in entry[:200] for entry in entries)
        if is_done and not 1 <= answers <= len(job.said):
            yield f"{job.token}: its page shows its answer {answers} times"


def signed_in(deployment: Deployment) -> OpenerDirector:
    """Return a client without JavaScript, signed in as the administrator."""
    jar = CookieJar()
    browser = build_opener(HTTPCookieProcessor(jar))
    address = f"{deployment.server.base_url}/accounts/login/"
    browser.open(address, timeout=60).close()
    token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
    form = {"login": "ada", "password": PASSWORD, "csrfmiddlewaretoken": token}
    browser.open(Request(address, urlencode(form).encode(), {"Referer": address}), timeout=60).close()
    return browser
