"""The addresses of the pages. Forms post to addresses below the session that they are about."""

from django.urls import path

from tasks_app.views import (
    calls,
    chat,
    conversation,
    files,
    forks,
    home,
    inbox,
    sessions,
    settings,
    usage,
    versions,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("s/<uuid:session_id>/", chat.show, name="session"),
    path("s/<uuid:session_id>/change/", sessions.change, name="session_change"),
    path("s/<uuid:session_id>/delete/", sessions.delete, name="session_delete"),
    path("s/<uuid:session_id>/messages/", conversation.post_message, name="post_message"),
    path("s/<uuid:session_id>/stop/", conversation.stop, name="stop"),
    path("s/<uuid:session_id>/reply/", conversation.reply, name="reply"),
    path("s/<uuid:session_id>/approval/", conversation.decide, name="decide"),
    path("s/<uuid:session_id>/files/", files.upload, name="upload"),
    path("s/<uuid:session_id>/files/delete/", files.delete, name="file_delete"),
    path("s/<uuid:session_id>/files/<path:path>", files.download, name="file"),
    path("s/<uuid:session_id>/preview/<path:path>", files.preview, name="preview"),
    path("s/<uuid:session_id>/versions/", versions.show, name="versions"),
    path("s/<uuid:session_id>/versions/<int:version_id>/", versions.download, name="version"),
    path("s/<uuid:session_id>/versions/<int:version_id>/restore/", versions.restore, name="version_restore"),
    path("s/<uuid:session_id>/fork/", forks.fork, name="fork"),
    path("s/<uuid:session_id>/calls/<uuid:call_id>/", calls.show, name="call"),
    path("s/<uuid:session_id>/calls/<uuid:call_id>/request/", calls.download, name="call_download"),
    path("inbox/", inbox.show, name="inbox"),
    path("inbox/approvals/<int:approval_id>/", inbox.decide, name="inbox_decide"),
    path("settings/", settings.show, name="settings"),
    path("settings/profile/", settings.profile, name="profile"),
    path("settings/tokens/", settings.make_token, name="token_make"),
    path("settings/tokens/delete/", settings.delete_token, name="token_delete"),
    path("settings/secrets/", settings.save_secret, name="secret_save"),
    path("settings/secrets/delete/", settings.delete_secret, name="secret_delete"),
    path("usage/", usage.show, name="usage"),
]
