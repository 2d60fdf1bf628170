from django.contrib.auth import SESSION_KEY
from django.db import migrations, models
from django.utils import timezone

import agentsite.accounts.models


def list_logins(apps, schema_editor):
    """Who is signed in by now is on the list of sign-ins as well, so that "sign out elsewhere" leaves nobody out."""
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
    dependencies = [
        ("accounts", "0002_help_texts"),
        ("sessions", "0001_initial"),
        ("usersessions", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="mails",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="When a mail is sent about this person's tasks: waiting, done, failed.",
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(
                blank=True,
                help_text="Such as Europe/Berlin. Empty: that of the browser, and UTC for the agent.",
                max_length=64,
                validators=[agentsite.accounts.models._known_zone],
            ),
        ),
        migrations.RunPython(list_logins, migrations.RunPython.noop),
    ]
