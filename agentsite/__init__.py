"""The site: settings, URLs and processes that tie the apps together."""

from agentsite.celery import app as celery_app

__all__ = ["celery_app"]
