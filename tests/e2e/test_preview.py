"""A server in the sandbox: its page can neither read this site, act on it, nor navigate elsewhere."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tasks_app.pages import preview
from tests.e2e.conftest import Chat, call, result, script
from tests.server import Server

PORT = 8123
# The page tries these attacks, and reports each in its own document.
ATTACK = """<!doctype html><html><head><title>App</title></head><body><p id="own">waiting</p><ul id="got"></ul><script>
const got = document.getElementById("got");
const say = (what, how) => { got.innerHTML += `<li>${what}: ${how}</li>`; };
const attempt = async (what, attack) => { try { say(what, "GOT " + JSON.stringify(await attack())); } catch (error) { say(what, "refused"); } };
(async () => {
  await fetch("/data.txt").then(it => it.text()).then(it => { document.getElementById("own").textContent = it.trim(); });
  await attempt("cookie", () => document.cookie);
  await attempt("storage", () => localStorage.length);
  await attempt("parent", () => parent.document.title);
  await attempt("address", () => parent.location.href);
  await attempt("opener", () => opener.document.title);
  await attempt("popup", () => { if (!window.open("about:blank")) throw 1; });
  await attempt("api", () => fetch(location.origin + "/api/v1/sessions/", {credentials: "include"}).then(it => it.status));
  await attempt("simple request", () => fetch(location.origin + "/api/v1/sessions/", {mode: "no-cors", credentials: "include"}).then(it => it.type));
  await attempt("elsewhere", () => fetch("https://example.com/", {mode: "no-cors"}).then(it => it.type));
  await attempt("picture", () => new Promise((good, bad) => { const it = new Image(); it.onload = good; it.onerror = bad; it.src = "ORIGIN/static/icons.svg"; }));
  await attempt("worker", () => navigator.serviceWorker.register("sw.js").then(() => 1));
  await attempt("top", () => { top.location = "about:blank"; });
  say("end", "reached");
})();
</script></body></html>"""
SERVE = f"mkdir -p app && cd app && python3 -u -m http.server {PORT}"


def test_previewed_page_is_shown_without_rights(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, may_complain=True)  # attacks log errors to the console
    Chat(page, server).start(
        script(
            call(
                "file",
                {"action": "write", "path": "app/index.html", "content": ATTACK.replace("ORIGIN", server.base_url)},
            ),
            call("file", {"action": "write", "path": "app/data.txt", "content": "from the sandbox"}),
            call("shell", {"command": SERVE, "background": True}),
            result(f"It runs: [the page](http://sandbox:{PORT}/)."),
        )
    )
    expect(page.get_by_role("link", name=f"Open preview of port {PORT}")).to_be_visible()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="the page").click()
    shown = opened.value
    expect(shown).to_have_url(re.compile(rf"/s/[0-9a-f-]+/ports/{PORT}/$"))
    frame = shown.frame_locator("iframe.port")
    expect(frame.locator("#own")).to_have_text("from the sandbox")
    expect(frame.locator("#got")).to_contain_text("end: reached")
    expect(frame.locator("#got")).not_to_contain_text("GOT")
    assert frame.locator("#got li").count() == 13
    assert shown.url.endswith(f"/ports/{PORT}/")


def test_previewed_page_is_not_shown_outside_its_frame(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, may_complain=True)
    chat = Chat(page, server).start(script(result()))
    place = f"/s/{chat.session_id}/ports/{PORT}/"
    page.clock.install()
    page.goto(place)
    with page.expect_response(re.compile("/port-renewal/")) as renewed:
        page.clock.run_for(preview.RENEWAL_SECONDS * 1000 + 1000)
    assert renewed.value.status == 204
    source = page.locator("iframe.port").get_attribute("src")
    expect(page.frame_locator("iframe.port").locator("body")).to_contain_text(
        "sandbox"
    )  # the reason why there is nothing
    page.goto(str(source))
    expect(page).to_have_url(re.compile(rf"{place}$"))


def test_stopped_server_is_started_again_by_a_message(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(server, may_complain=True)  # the hidden frame gets no answer
    serve = {"command": f"python3 -u -m http.server {PORT + 1}", "background": True}
    chat = Chat(page, server).start(script(call("shell", serve), result("It runs.")))
    expect(chat.state).to_have_text("Done")
    chat.say(script(call("job", {"action": "kill", "id": 1}), result("It is ended.")))
    expect(chat.result("It is ended.")).to_be_visible()
    page.goto(f"/s/{chat.session_id}/ports/{PORT + 1}/")
    expect(page.get_by_role("heading", name="This server does not answer")).to_be_visible()
    expect(page.get_by_text("The agent ended its command.")).to_be_visible()
    expect(page.locator("iframe.port")).to_be_hidden()
    page.get_by_role("button", name="Start the server again").click()
    expect(page).to_have_url(re.compile(rf"/s/{chat.session_id}/"))
    expect(page.get_by_text(f"Start the server on port {PORT + 1} again")).to_be_visible()
