"""A refused answer as a person sees it: the card names the filter, and the session goes on."""

from playwright.sync_api import expect

from tests.e2e.conftest import Chat
from tests.e2e.speaker import Speaker


def test_card_names_the_filter_and_the_session_goes_on(chat: Chat, speaker: Speaker):
    speaker.filters()
    speaker.says("It is 4.", pauses=0)
    chat.start("Do something flagged.", model="speaker")
    card = chat.page.locator(".failure")
    expect(card).to_contain_text("The filter of the model provider stopped the answer.")
    expect(card.get_by_role("button", name="Try again")).to_have_count(0)
    chat.page.reload()
    expect(chat.entries.first).to_contain_text("Left out of later requests")
    chat.say("What is 2 + 2?")
    expect(chat.result("It is 4.")).to_be_visible()
