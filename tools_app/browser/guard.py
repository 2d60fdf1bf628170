"""What a page may load. Where it leads, the proxy decides; here stands what never gets that far."""

from playwright.async_api import Route
from yarl import URL

from tools_app.errors import AddressRefused
from tools_app.network.policy import NetworkPolicy, check_url

_OWN = ("data", "blob", "about")  # the page itself


def refused(url: str, policy: NetworkPolicy) -> str:
    """Why a page must not load `url`; empty if it may."""
    if url.split(":", 1)[0] in _OWN:
        return ""
    try:
        check_url(str(URL(url).with_user(None)), policy)  # a name and a password were taken out by Chromium
    except (AddressRefused, ValueError) as error:
        return str(error)
    return ""


async def guard(route: Route, policy: NetworkPolicy) -> str:
    """Lets a request go on, or ends it and says why."""
    reason = refused(route.request.url, policy)
    if reason:
        await route.abort("blockedbyclient")
    else:
        await route.continue_()
    return reason
