"""Delegated tasks, followed from the page of their parent."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Chat, call, result, script
from tests.server import ROOT, Server


def part(words, *replies):
    return {"instruction": script(*replies).replace("Please.", words, 1)}


def test_answering_a_delegated_task_lets_its_parent_continue(chat: Chat):
    ask = call("message", {"type": "ask", "text": "Which currency?", "options": ["EUR", "USD"]})
    tasks = [part("Compare the prices", ask, result("In EUR.")), part("Find a name", result("Acme."))]
    whole = script(call("shell", {"command": "true"}), call("delegate", {"tasks": tasks}), result("Both."))
    chat.start(whole.replace("```script", "````script", 1) + "`")  # it contains scripts
    rows = chat.page.locator(".delegated > li")
    expect(rows.nth(0)).to_contain_text("Waits for you")
    expect(rows.nth(1)).to_contain_text("Done")
    expect(chat.state).to_contain_text("1 delegated task needs you")
    expect(chat.page.locator(".activity > summary")).to_contain_text("Ran true, delegated 2 tasks")
    rows.nth(0).get_by_role("link").click()
    chat.page.get_by_role("button", name="EUR").click()
    expect(chat.result("In EUR.")).to_be_visible()
    chat.page.locator(".crumb a").click()
    expect(chat.result("Both.")).to_be_visible()
    chat.page.locator(".activity summary").click()
    expect(rows.nth(0)).to_contain_text("Done")


def run_in(server: Server, code: str) -> None:
    """Run Python with access to the server's database."""
    command = [sys.executable, "manage.py", "shell", "--verbosity=0", "-c", code]
    subprocess.run(command, cwd=ROOT, env=server.environment, check=True)


@pytest.fixture
def chief(server: Server) -> Iterator[str]:
    """Return an agent that has another agent as a tool, and delete both after the test."""
    agents = "from tasks_app.models import Agent; "
    run_in(server, f"{agents}Agent.objects.create(name='Clerk'); Agent.objects.create(name='Chief', helpers=['Clerk'])")
    yield "Chief"
    run_in(server, f"{agents}Agent.objects.filter(name__in=['Chief', 'Clerk']).delete()")


def test_cards_of_an_agent_tool_are_answered_in_inbox_and_callers_page(
    open_page: Callable[..., Page], server: Server, chief: str
) -> None:
    chat, inbox = Chat(open_page(server), server), open_page(server)
    remove = call("shell", {"command": "git push --force"})
    ask = call("message", {"type": "ask", "text": "By date or by sender?", "options": ["By date", "By sender"]})
    whole = script(call("ask_Clerk", {"instruction": script(remove, ask, result("Filed."))}), result("All is filed."))
    chat.page.get_by_label("Agent", exact=True).select_option(chief)
    chat.start(whole.replace("```script", "````script", 1) + "`")  # it contains a script
    expect(chat.state).to_contain_text("1 delegated task needs you")

    inbox.goto("/inbox/")
    card = inbox.locator(".waiting-item", has_text="git push --force")
    expect(card).to_contain_text("Asked by Clerk")
    card.get_by_role("button", name="Approve once").click()
    expect(card).to_contain_text("Approved by ada")

    row = chat.page.locator(".delegated > li")
    expect(row).to_contain_text("Waits for you")
    expect(row).to_contain_text("Clerk")
    row.get_by_role("link").click()
    chat.page.get_by_role("button", name="By sender").click()
    expect(chat.result("Filed.")).to_be_visible()
    chat.page.locator(".crumb a").click()
    expect(chat.result("All is filed.")).to_be_visible()
