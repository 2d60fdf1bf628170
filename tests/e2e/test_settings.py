"""Settings that need a browser: the second factor, and consent to notifications."""

from playwright.sync_api import Page, expect

from tests import totp
from tests.e2e.conftest import PASSWORD, Chat, call, result, script, sign_in
from tests.waiting import until


def enter(page: Page, code: str) -> None:
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out_and_in(page: Page) -> None:
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_label("Username").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()


def test_two_factor_sign_in_and_single_use_recovery_codes(open_page, server):
    page = open_page(server, signed_in=False)
    sign_in(page, "carol")  # later tests sign in with it, too
    page.goto("/settings/")
    page.get_by_role("link", name="Set up two-factor sign-in").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    assert page.locator("img.qr").evaluate("picture => picture.complete && picture.naturalWidth > 0")
    page.get_by_text("I cannot scan it").click()
    key = page.locator("#totp-secret").inner_text()
    page.get_by_label("Code").fill(totp.code(key, later=-1))
    page.get_by_role("button", name="Switch on").click()
    recovery = page.locator("#recovery-codes code").first.inner_text()
    page.get_by_role("link", name="Back to the settings").click()
    expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()
    sign_out_and_in(page)
    enter(page, totp.code(key))
    page.wait_for_url("**/")
    sign_out_and_in(page)
    enter(page, recovery)
    page.wait_for_url("**/")
    sign_out_and_in(page)
    enter(page, recovery)
    expect(page.get_by_text("Incorrect code")).to_be_visible()


def test_notifications_need_consent_and_skip_the_current_page(open_page, server):
    page = open_page(server, new=True)
    page.context.grant_permissions([])
    page.add_init_script(
        """window.shown = [];
        window.Notification = class { constructor(title, { body }) { window.shown.push(`${title}: ${body}`) } };
        Notification.permission = localStorage.agreed || "default";
        Notification.requestPermission = async () => (Notification.permission = localStorage.agreed = "granted");"""
    )
    page.goto("/settings/")
    assert page.evaluate("localStorage.notices") is None
    page.get_by_label("Show a notification").check()
    until(lambda: page.evaluate("localStorage.told"))
    assert page.evaluate("window.shown") == []
    other = Chat(open_page(server, new=True), server)
    other.start(script(call("message", {"type": "ask", "text": "Which?", "options": ["This"]}), result()))
    until(lambda: any("Waits for you" in told for told in page.evaluate("window.shown")))
