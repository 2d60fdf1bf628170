"""What of a session is cut, and how full its window is, for the pages that show it."""

from django import template

from tasks_app.models import ContextCut, Session
from tasks_app.pages.context_usage import Gauge, gauge_of

register = template.Library()


@register.simple_tag
def gauge(session: Session) -> Gauge | None:
    return gauge_of(session)


@register.simple_tag
def newest_cut(session: Session) -> ContextCut | None:
    return ContextCut.objects.of(session).first()
