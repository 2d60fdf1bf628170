"""Profiles, languages and the list of sign-ins, as of version 1.0."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.db import migrations, models
from django.utils import timezone

import agentsite.accounts.models


def list_logins(apps: Any, schema_editor: Any) -> None:
    """List the open browser sessions, so that "sign out elsewhere" ends these, too."""
    from django.contrib.sessions.backends.db import SessionStore

    listed = apps.get_model("usersessions", "UserSession")
    people = dict(apps.get_model("accounts", "User").objects.values_list("pk", "pk"))
    rows = apps.get_model("sessions", "Session").objects.filter(expire_date__gt=timezone.now())
    found = ((row.session_key, SessionStore().decode(row.session_data).get(SESSION_KEY)) for row in rows.iterator())
    listed.objects.bulk_create(
        [
            listed(session_key=key, user_id=people[int(user)], ip="0.0.0.0", user_agent="", data={})
            for key, user in found
            if user and int(user) in people
        ],
        ignore_conflicts=True,
        batch_size=500,
    )


class Migration(migrations.Migration):
    replaces = [
        ("accounts", name)
        for name in (
            "0002_help_texts",
            "0003_profile_and_logins",
            "0004_language",
        )
    ]

    dependencies = [
        ("accounts", "0001_initial"),
        ("sessions", "0001_initial"),
        ("usersessions", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="mails",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(blank=True, max_length=64, validators=[agentsite.accounts.models._known_zone]),
        ),
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, max_length=8, validators=[agentsite.accounts.models._known_language]),
        ),
        migrations.RunPython(
            code=list_logins,
            reverse_code=migrations.RunPython.noop,
        ),
    ]
