"""What was delegated is followed from the page that waits for it."""

from playwright.sync_api import expect

from tests.e2e.conftest import Chat, call, result, script


def part(words, *replies):
    return {"instruction": script(*replies).replace("Please.", words, 1)}


def test_a_person_answers_a_delegated_task_and_its_parent_goes_on(chat: Chat):
    ask = call("message", {"type": "ask", "text": "Which currency?", "options": ["EUR", "USD"]})
    tasks = [part("Compare the prices", ask, result("In EUR.")), part("Find a name", result("Acme."))]
    whole = script(call("shell", {"command": "true"}), call("delegate", {"tasks": tasks}), result("Both."))
    chat.start(whole.replace("```script", "````script", 1) + "`")  # it has scripts in it
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
