"""The websocket's address."""

from django.urls import path

from tasks_app.live.consumer import SessionConsumer

websocket_urlpatterns = [path("ws/sessions/<uuid:session_id>/", SessionConsumer.as_asgi())]
