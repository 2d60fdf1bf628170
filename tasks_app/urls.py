"""The addresses of the pages. Forms post to addresses below the session that they are about."""

from django.urls import path

from tasks_app.pages import chat, context, files, home, inbox, memory, provider, settings

urlpatterns = [
    path("", home.home, name="home"),
    path("provider/key/", provider.enter_key, name="enter_key"),
    path("provider/model/", provider.choose_model, name="choose_model"),
    path("s/<uuid:session_id>/", chat.show, name="session"),
    path("s/<uuid:session_id>/change/", chat.change, name="session_change"),
    path("s/<uuid:session_id>/delete/", chat.delete, name="session_delete"),
    path("s/<uuid:session_id>/messages/", chat.post_message, name="post_message"),
    path("s/<uuid:session_id>/stop/", chat.stop, name="stop"),
    path("s/<uuid:session_id>/reply/", chat.reply, name="reply"),
    path("s/<uuid:session_id>/approval/", chat.decide, name="decide"),
    path("s/<uuid:session_id>/files/", files.upload, name="upload"),
    path("s/<uuid:session_id>/files/delete/", files.delete, name="file_delete"),
    path("s/<uuid:session_id>/files/<path:path>", files.download, name="file"),
    path("s/<uuid:session_id>/preview/<path:path>", files.preview, name="preview"),
    path("s/<uuid:session_id>/versions/", files.show_versions, name="versions"),
    path("s/<uuid:session_id>/versions/<int:version_id>/", files.download_version, name="version"),
    path("s/<uuid:session_id>/versions/<int:version_id>/restore/", files.restore_version, name="version_restore"),
    path("s/<uuid:session_id>/fork/", chat.fork, name="fork"),
    path("s/<uuid:session_id>/calls/<uuid:call_id>/", context.show_call, name="call"),
    path("s/<uuid:session_id>/calls/<uuid:call_id>/request/", context.download_call, name="call_download"),
    path("s/<uuid:session_id>/context/", context.show, name="context"),
    path("s/<uuid:session_id>/context/<int:seq>/", context.entry, name="context_entry"),
    path("inbox/", inbox.show, name="inbox"),
    path("inbox/approvals/<int:approval_id>/", inbox.decide, name="inbox_decide"),
    path("memory/", memory.show, name="memory"),
    path("memory/add/", memory.add, name="memory_add"),
    path("memory/<int:note_id>/", memory.change, name="memory_change"),
    path("memory/<int:note_id>/delete/", memory.delete, name="memory_delete"),
    path("s/<uuid:session_id>/forget/", memory.undo, name="memory_undo"),
    path("settings/", settings.show, name="settings"),
    path("settings/profile/", settings.profile, name="profile"),
    path("settings/tokens/", settings.make_token, name="token_make"),
    path("settings/tokens/delete/", settings.delete_token, name="token_delete"),
    path("settings/secrets/", settings.save_secret, name="secret_save"),
    path("settings/secrets/delete/", settings.delete_secret, name="secret_delete"),
    path("usage/", settings.show_usage, name="usage"),
]
