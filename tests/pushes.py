"""Messages that an open page receives when an entry is appended."""

from typing import Any

from tasks_app.access import may_write
from tasks_app.models import ContextEntry
from tasks_app.pages import fragments
from tasks_app.record import transcript


def pushed(entry: ContextEntry, user: Any) -> str:
    session, item = entry.session, transcript.item_of(entry)
    viewer = fragments.Viewer(user, may_write(user, session), is_starter=False)
    place = "message" if item.entry == entry else "old"
    return fragments.item_updates(session, [fragments.ItemUpdate(item, place, None)]).render_for(viewer)
