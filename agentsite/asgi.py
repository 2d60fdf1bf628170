"""The ASGI application: pages and REST by Django, the session's live view by Channels."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")

from django.core.asgi import get_asgi_application

http_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from tasks_app.live.consumer import websocket_urlpatterns

application = ProtocolTypeRouter(
    {
        "http": http_application,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
