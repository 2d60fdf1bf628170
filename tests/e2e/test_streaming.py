"""Text while it streams: shown immediately, resumed in the middle, never repeated, and replaced by its entry."""

from playwright.sync_api import expect

from tests.e2e.conftest import WAIT, Chat, call, result, script
from tests.e2e.speaker import WORDS
from tests.pictures import picture
from tests.waiting import until


def test_message_grows_and_becomes_an_entry(chat: Chat, speaker):
    speaker.says(WORDS)
    chat.start("Speak.", model="speaker")
    expect(chat.live).to_contain_text("word40 ")
    expect(chat.page.locator(".entry.result")).to_have_count(0)
    expect(chat.state).to_contain_text("Thinking")
    speaker.goes_on()
    expect(chat.result("word99")).to_be_visible()
    expect(chat.live).to_have_count(0)
    assert chat.page.locator(".entry.result").inner_text().count("word99") == 1


def test_page_loaded_mid_stream_shows_the_text_and_continues(chat: Chat, speaker):
    speaker.says(WORDS, pauses=2)
    chat.start("Speak.", model="speaker")
    expect(chat.live).to_contain_text("word30 ")
    chat.page.reload()
    expect(chat.live).to_contain_text("word0 word1 word2 ")
    speaker.goes_on()
    expect(chat.live).to_contain_text("word60 ")
    assert WORDS.startswith(chat.live.inner_text().strip().removesuffix("▍"))
    speaker.goes_on()
    expect(chat.result("word99")).to_be_visible()
    expect(chat.live).to_have_count(0)


def test_two_pages_show_the_same(chat: Chat, open_page, server, speaker):
    speaker.says(WORDS, pauses=2)
    chat.start("Speak.", model="speaker")
    other = Chat(open_page(server), server)
    other.page.goto(chat.page.url)
    expect(other.live).to_contain_text("word20 ")
    speaker.goes_on()
    for one in (chat, other):
        expect(one.live).to_contain_text("word60 ")
    speaker.goes_on()
    for one in (chat, other):
        expect(one.result("word99")).to_be_visible()
    assert other.seqs == chat.seqs


def test_thinking_streams_folded(chat: Chat, speaker):
    speaker.thinks("Let me think about this. " * 20, then="The end.")
    chat.start("Think.", model="speaker")
    thought = chat.page.locator("#live .thought")
    expect(thought.locator("summary")).to_have_text("Thinking …")
    thought.locator("summary").click()
    expect(thought).to_contain_text("Let me think about this.")
    speaker.goes_on()
    expect(chat.result("The end.")).to_be_visible()
    expect(chat.page.locator("#entries .thought > summary")).to_contain_text("Thought: Let me think")


def test_words_before_a_call_stream_and_stay_above_its_card(chat: Chat, speaker):
    speaker.works("First I look which files are there, then I count them.", "file", action="list", path=".")
    speaker.chats("I would say it is three.")
    speaker.says("Three.", pauses=0)
    chat.start("Count.", model="speaker")
    words = chat.page.locator("#live [data-live=words]")
    expect(words).to_contain_text("First I look which")
    expect(chat.tool("file")).to_have_count(0)
    speaker.goes_on()
    expect(chat.result("Three.")).to_be_visible()
    expect(words).to_have_count(0)
    withdrawn = chat.page.locator(".withdrawn", has_text="Withdrawn")
    for _ in ("as it came", "after a reload"):
        card = chat.page.locator(".entry.tool_call")
        expect(card.locator(".progress")).to_have_text("First I look which files are there, then I count them.")
        expect(withdrawn.get_by_text("I would say it is three.")).to_be_visible()
        chat.page.reload()


def test_running_command_shows_its_output(chat: Chat):
    command = f"printf '\\033[1mfirst\\033[0m line\\n'; {WAIT}; echo last line"
    chat.start(script(call("shell", {"command": command}), result()))
    output = chat.page.locator("pre[data-live=tool_output]")
    expect(output).to_have_text("first line\n")
    chat.end_wait()
    expect(chat.state).to_have_text("Done")
    expect(output).to_have_count(0)
    card = chat.tool("shell")
    card.locator("summary").first.click()
    expect(card).to_contain_text("last line")


def test_opened_card_stays_open_when_its_result_arrives(chat: Chat):
    chat.start(script(call("shell", {"command": f"{WAIT}; echo finished"}), result()))
    card = chat.tool("shell")
    card.locator("summary").first.click()
    chat.end_wait()
    expect(card.get_by_text("Result")).to_be_visible()
    expect(card.locator("pre.output")).to_contain_text("finished")


def test_picture_that_loads_late_keeps_the_page_at_its_end(chat: Chat):
    show = {"type": "result", "text": "A chart.", "attachments": ["chart.png"]}
    chat.start(script(call("shell", {"command": f"seq 100; {WAIT}"}), call("message", show)))
    chart = {"name": "chart.png", "mimeType": "image/png", "buffer": picture(800, 600)}
    chat.end_wait(chart)
    expect(chat.page.locator("#files")).to_contain_text("chart.png")
    shown = chat.page.get_by_role("img", name="chart.png")
    until(lambda: shown.evaluate("it => it.complete && it.naturalWidth > 0 && it.height > 300"))
    until(lambda: chat.page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY") < 120)


def test_chosen_file_is_uploaded_though_the_list_was_replaced(chat: Chat):
    chat.start(script(call("shell", {"command": WAIT}), result()))
    files = chat.page.locator("#files")
    with chat.page.expect_file_chooser() as opened:
        files.get_by_text("Upload", exact=True).click()
    chat.server.call("POST", f"sessions/{chat.session_id}/files/another.txt", "x")
    expect(files).to_contain_text("another.txt")
    opened.value.set_files({"name": "go", "mimeType": "text/plain", "buffer": b"x"})
    expect(chat.state).to_have_text("Done")


def test_text_of_a_refused_call_is_withdrawn(chat: Chat, speaker):
    speaker.says(WORDS, type="info", attachments=["missing.txt"])
    speaker.says("After all.", pauses=0)
    chat.start("Speak.", model="speaker")
    expect(chat.live).to_contain_text("word3 ")
    speaker.goes_on()
    expect(chat.result("After all.")).to_be_visible()
    expect(chat.live).to_have_count(0)
    expect(chat.page.locator(".quiet", has_text="A message that was not sent")).to_be_visible()


def test_ordered_list_with_a_task_item_keeps_its_numbers(chat: Chat) -> None:
    text = "1. one\n2. [x] two\n3. three\n\nAnd\n\n- [ ] four\n- five"
    chat.start(script(result(text)))
    expect(chat.state).to_have_text("Done")
    items = chat.result("three").get_by_role("listitem")
    expect(items).to_have_count(5)
    styles = items.evaluate_all("items => items.map(item => getComputedStyle(item).listStyleType)")
    assert styles == ["decimal"] * 3 + ["none", "disc"]
    for word in ("two", "four"):  # the box covers no word of its item
        box, item = items.get_by_text(word).get_by_role("checkbox"), items.get_by_text(word)
        end = box.evaluate("box => box.getBoundingClientRect().right")
        begin = item.evaluate(
            "item => { const r = document.createRange(); r.selectNode(item.lastChild); return r.getClientRects()[0].left }"
        )
        assert end <= begin + 6
