"""The models' changes between the first database and the last weeks before version 1.0."""

import uuid
from typing import Any

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import tasks_app.models.trace_sink
from llm_app.sql.migration_operations import AddMissingField

SWITCHES = ("safe_mode", "autopilot", "self_verification", "termination_review")
OLD_RESULT_TOKENS = 2_500
REGULAR_FILE = 0o100644


def switches_to_hooks(apps: Any, schema_editor: Any) -> None:
    for agent in apps.get_model("tasks_app", "Agent").objects.all():
        agent.hooks = [name for name in SWITCHES if getattr(agent, name)]
        if agent.withheld_patterns:
            agent.hooks.append("output_filter")
        agent.save(update_fields=["hooks"])


def hooks_to_switches(apps: Any, schema_editor: Any) -> None:
    for agent in apps.get_model("tasks_app", "Agent").objects.all():
        for name in SWITCHES:
            setattr(agent, name, name in agent.hooks)
        agent.save(update_fields=SWITCHES)


def size_results_by_window(apps: Any, schema_editor: Any) -> None:
    apps.get_model("tasks_app", "Limits").objects.filter(result_tokens=OLD_RESULT_TOKENS).update(result_tokens=None)


def size_results_by_number(apps: Any, schema_editor: Any) -> None:
    apps.get_model("tasks_app", "Limits").objects.filter(result_tokens=None).update(result_tokens=OLD_RESULT_TOKENS)


def versions_to_changes(apps: Any, schema_editor: Any) -> None:
    """Store each version of a file as a change of one file; the contents keep their names."""
    Version, Change, File = (
        apps.get_model("tasks_app", name) for name in ("FileVersion", "WorkspaceChange", "FileChange")
    )
    for version in Version.objects.order_by("pk").iterator():
        change = Change.objects.create(session_id=version.session_id, task_id=version.task_id, tool="file", seq=0)
        Change.objects.filter(pk=change.pk).update(created_at=version.created_at)
        before = {"before_mode": REGULAR_FILE, "before_size": version.size, "before_sha256": version.sha256}
        File.objects.create(change=change, path=version.path, after_mode=REGULAR_FILE, **before)


class Migration(migrations.Migration):
    replaces = [
        ("tasks_app", name)
        for name in (
            "0004_help_texts",
            "0005_agent_hooks",
            "0006_agent_switches",
            "0007_help_texts",
            "0008_agent_environments",
            "0009_result_pages",
            "0010_guardrails_are_added_to",
            "0011_restrictions_of_agents",
            "0012_workspace_changes",
            "0013_process_samples",
            "0014_admission",
            "0015_history_limits",
            "0016_reading_indexes",
            "0017_fewer_indexes",
            "0018_quotas",
            "0019_agent_versions",
            "0020_session_texts",
            "0021_handoffs",
            "0022_tracing_and_routing",
            "0023_sessions_filed_and_shared",
            "0024_delegation",
            "0025_steering",
            "0026_told",
            "0027_projects",
            "0028_library",
            "0029_agents_of_roles",
            "0030_lists_by_time",
            "0031_project_notes",
            "0032_library_vectors",
            "0033_index_ended",
            "0034_result_log",
        )
    ]

    dependencies = [
        ("accounts", "__first__"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("llm_app", "0002_version_1_0"),
        ("tasks_app", "0001_initial"),
    ]

    operations = [
        AddMissingField(
            model_name="task",
            name="other_authors",
            field=models.JSONField(blank=True, default=list),
        ),
        AddMissingField(
            model_name="task",
            name="terminal",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    sql="DROP INDEX IF EXISTS task_context_session_id_1a1fdb26",
                    reverse_sql="CREATE INDEX task_context_session_id_1a1fdb26 ON task_context (session_id)",
                ),
                migrations.RunSQL(
                    sql="DROP INDEX IF EXISTS tool_call_logs_task_id_f22272b4",
                    reverse_sql="CREATE INDEX tool_call_logs_task_id_f22272b4 ON tool_call_logs (task_id)",
                ),
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="contextentry",
                    name="session",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="tasks_app.session",
                    ),
                ),
                migrations.AlterField(
                    model_name="toolcalllog",
                    name="task",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_calls",
                        to="tasks_app.task",
                    ),
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    sql="DROP INDEX IF EXISTS tasks_session_id_ba688419",
                    reverse_sql="CREATE INDEX tasks_session_id_ba688419 ON tasks (session_id)",
                ),
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="task",
                    name="session",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="tasks_app.session",
                    ),
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField(
                    model_name="contextentry",
                    name="log",
                    field=models.ForeignObject(
                        from_fields=["session", "tool_call_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tasks_app.toolcalllog",
                        to_fields=["session_id", "call_id"],
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="agent",
            name="hooks",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AlterModelOptions(
            name="loaded",
            options={"verbose_name_plural": "loaded tools and skills"},
        ),
        migrations.AlterField(
            model_name="approval",
            name="scope",
            field=models.CharField(
                choices=[("once", "This call"), ("task", "Similar calls in this task")], default="once", max_length=4
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="environments",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="limits",
            name="same_tool_after",
            field=models.PositiveIntegerField(default=20),
        ),
        migrations.AlterField(
            model_name="limits",
            name="result_tokens",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="agent",
            name="blocked_commands",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="agent",
            name="restricted_paths",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.CreateModel(
            name="WorkspaceChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("call_id", models.CharField(blank=True, max_length=100)),
                ("tool", models.CharField(blank=True, max_length=100)),
                ("seq", models.PositiveIntegerField()),
                ("told", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="changes", to="tasks_app.session"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="tasks_app.task"
                    ),
                ),
            ],
            options={
                "db_table": "workspace_changes",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="FileChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=4096)),
                ("before_mode", models.PositiveIntegerField(null=True)),
                ("before_size", models.PositiveBigIntegerField(default=0)),
                ("before_sha256", models.CharField(blank=True, max_length=64)),
                ("after_mode", models.PositiveIntegerField(null=True)),
                ("after_size", models.PositiveBigIntegerField(default=0)),
                ("after_sha256", models.CharField(blank=True, max_length=64)),
                (
                    "change",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="tasks_app.workspacechange",
                    ),
                ),
            ],
            options={
                "db_table": "file_changes",
                "ordering": ["-change_id", "path"],
            },
        ),
        migrations.AddIndex(
            model_name="workspacechange",
            index=models.Index(fields=["session", "-id"], name="changes_of_a_session"),
        ),
        migrations.AddIndex(
            model_name="workspacechange",
            index=models.Index(fields=["session", "call_id"], name="changes_of_a_call"),
        ),
        migrations.AddField(
            model_name="engineprocess",
            name="counted",
            field=models.JSONField(default=list, editable=False),
        ),
        migrations.AddField(
            model_name="task",
            name="admitted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("admitted_at", None), ("ended_at", None), ("waiting_for", None)),
                fields=["started_by", "created_at"],
                name="queued_tasks",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("admitted_at__isnull", False), ("ended_at", None)),
                fields=["started_by"],
                name="running_tasks",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("admitted_at__isnull", False)),
                fields=["started_by", "-admitted_at"],
                name="newest_admissions",
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="history_bytes",
            field=models.PositiveBigIntegerField(default=200000000),
        ),
        migrations.AddField(
            model_name="limits",
            name="history_changes",
            field=models.PositiveIntegerField(default=500),
        ),
        migrations.AddField(
            model_name="limits",
            name="history_days",
            field=models.PositiveIntegerField(default=90),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["-created_at"], name="newest_tasks"),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("waiting_for__isnull", False)), fields=["session"], name="waiting_tasks"
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="user_bytes",
            field=models.PositiveBigIntegerField(default=20000000000),
        ),
        migrations.AddField(
            model_name="limits",
            name="user_sessions",
            field=models.PositiveIntegerField(default=10000),
        ),
        migrations.AddField(
            model_name="session",
            name="files_bytes",
            field=models.PositiveBigIntegerField(default=0, editable=False),
        ),
        migrations.CreateModel(
            name="AgentVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("content", models.JSONField()),
                ("note", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="versions",
                        to="tasks_app.agent",
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "agent_versions",
                "ordering": ["-pk"],
            },
        ),
        migrations.AddField(
            model_name="task",
            name="agent_version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="tasks",
                to="tasks_app.agentversion",
            ),
        ),
        migrations.AddConstraint(
            model_name="agentversion",
            constraint=models.UniqueConstraint(fields=("agent", "number"), name="version_once_per_agent"),
        ),
        migrations.CreateModel(
            name="SessionText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_seq", models.PositiveIntegerField()),
                ("last_seq", models.PositiveIntegerField()),
                ("terms", models.TextField()),
                ("masked_with", models.CharField(max_length=16)),
            ],
            options={
                "db_table": "session_texts",
            },
        ),
        migrations.AddField(
            model_name="session",
            name="indexed_seq",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("last_seq__gt", models.F("indexed_seq"))), fields=["id"], name="sessions_behind"
            ),
        ),
        migrations.AddField(
            model_name="sessiontext",
            name="session",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="texts",
                to="tasks_app.session",
            ),
        ),
        migrations.AddIndex(
            model_name="sessiontext",
            index=models.Index(fields=["session", "first_seq"], name="session_tex_session_f5726c_idx"),
        ),
        migrations.RemoveConstraint(
            model_name="contextentry",
            name="entry_type_known",
        ),
        migrations.AddField(
            model_name="agent",
            name="handoffs",
            field=models.ManyToManyField(blank=True, related_name="+", to="tasks_app.agent"),
        ),
        migrations.AddField(
            model_name="limits",
            name="handoff_limit",
            field=models.PositiveIntegerField(default=8),
        ),
        migrations.AddField(
            model_name="session",
            name="active_agent",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="tasks_app.agent",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="handoffs",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="toolcalllog",
            name="checks",
            field=models.TextField(blank=True),
        ),
        migrations.CreateModel(
            name="RoutingRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("enabled", models.BooleanField(default=True)),
                (
                    "match",
                    models.CharField(
                        choices=[
                            ("words", "Words"),
                            ("regex", "Regular expression"),
                            ("meaning", "Nearness of meaning"),
                        ],
                        default="words",
                        max_length=7,
                    ),
                ),
                ("pattern", models.TextField()),
                (
                    "closeness",
                    models.FloatField(
                        default=0.5,
                        validators=[
                            django.core.validators.MinValueValidator(0.1),
                            django.core.validators.MaxValueValidator(1),
                        ],
                    ),
                ),
                (
                    "target",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Nothing but the text"),
                            ("skill", "Skill"),
                            ("group", "Group of tools"),
                            ("agent", "Agent"),
                            ("workflow", "Workflow"),
                        ],
                        default="",
                        max_length=8,
                    ),
                ),
                ("target_name", models.CharField(blank=True, max_length=100, verbose_name="name")),
                ("text", models.TextField(blank=True, max_length=4000)),
                ("fault", models.TextField(blank=True, editable=False)),
            ],
            options={
                "db_table": "routing_rules",
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("match__in", ["words", "regex", "meaning"])),
                        name="routing_rule_match_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("target__in", ["", "skill", "group", "agent", "workflow"])),
                        name="routing_rule_target_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TraceSink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        max_length=100,
                        unique=True,
                        validators=[django.core.validators.RegexValidator("^[A-Za-z0-9_.-]+\\Z")],
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("file", "JSON lines in a file"), ("http", "HTTP, signed"), ("otlp", "OpenTelemetry")],
                        max_length=4,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "url",
                    models.CharField(
                        blank=True,
                        max_length=500,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^https?://[^\\s/]", "Write the whole address, with http:// or https://."
                            )
                        ],
                        verbose_name="address",
                    ),
                ),
                (
                    "events",
                    models.JSONField(blank=True, default=list, validators=[tasks_app.models.trace_sink.check_events]),
                ),
                ("content", models.BooleanField(default=False)),
                (
                    "max_bytes",
                    models.PositiveBigIntegerField(
                        default=50000000, validators=[django.core.validators.MinValueValidator(10000)]
                    ),
                ),
                ("cursor", models.BigIntegerField(default=0, editable=False)),
                ("delivered", models.PositiveBigIntegerField(default=0, editable=False)),
                ("delivered_at", models.DateTimeField(editable=False, null=True)),
                ("failures", models.PositiveIntegerField(default=0, editable=False)),
                ("last_error", models.TextField(blank=True, editable=False)),
                ("last_error_at", models.DateTimeField(editable=False, null=True)),
                ("next_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("claimed_by", models.CharField(blank=True, editable=False, max_length=100)),
                ("claimed_until", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "db_table": "trace_sinks",
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["file", "http", "otlp"])), name="trace_sink_kind_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind", "file"), models.Q(("url", ""), _negated=True), _connector="OR"),
                        name="trace_sink_has_an_address",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FiredRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="routed", to="tasks_app.task"
                    ),
                ),
                (
                    "rule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="fired", to="tasks_app.routingrule"
                    ),
                ),
            ],
            options={
                "db_table": "fired_rules",
                "ordering": ["-pk"],
                "constraints": [models.UniqueConstraint(fields=("rule", "task"), name="rule_fires_once_per_task")],
            },
        ),
        migrations.CreateModel(
            name="Filing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_pinned", models.BooleanField(default=False)),
                ("is_archived", models.BooleanField(default=False)),
                ("tags", models.TextField(blank=True)),
            ],
            options={
                "db_table": "session_filings",
            },
        ),
        migrations.CreateModel(
            name="ShareLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "db_table": "share_links",
                "ordering": ["-created_at"],
            },
        ),
        migrations.AddField(
            model_name="limits",
            name="title_model",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="llm_app.logicalmodel",
            ),
        ),
        migrations.AddField(
            model_name="sessionmember",
            name="role",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="auth.group"
            ),
        ),
        migrations.AlterField(
            model_name="contextentry",
            name="context_type",
            field=models.CharField(
                choices=[
                    ("user_message", "User Message"),
                    ("ai_message", "Ai Message"),
                    ("tool_call", "Tool Call"),
                    ("tool_result", "Tool Result"),
                    ("system_reminder", "System Reminder"),
                    ("status_notice", "Status Notice"),
                    ("no_tool_call_retry", "No Tool Call Retry"),
                    ("workflow_step", "Workflow Step"),
                    ("handoff", "Handoff"),
                    ("client_history", "Client History"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "context_type__in",
                        [
                            "user_message",
                            "ai_message",
                            "tool_call",
                            "tool_result",
                            "system_reminder",
                            "status_notice",
                            "no_tool_call_retry",
                            "workflow_step",
                            "handoff",
                            "client_history",
                        ],
                    )
                ),
                name="entry_type_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="sessionmember",
            constraint=models.UniqueConstraint(fields=("session", "role"), name="role_once_per_session"),
        ),
        migrations.AddConstraint(
            model_name="sessionmember",
            constraint=models.CheckConstraint(
                condition=models.Q(("user__isnull", True), ("role__isnull", True), _connector="XOR"),
                name="member_is_a_person_or_a_role",
            ),
        ),
        migrations.AddField(
            model_name="filing",
            name="session",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="filings", to="tasks_app.session"
            ),
        ),
        migrations.AddField(
            model_name="filing",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="filings", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="sharelink",
            name="session",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="links", to="tasks_app.session"
            ),
        ),
        migrations.AddConstraint(
            model_name="filing",
            constraint=models.UniqueConstraint(fields=("user", "session"), name="filed_once_per_user"),
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_waits_only_in_executing_tool",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_failed_has_a_code",
        ),
        migrations.AddField(
            model_name="agent",
            name="delegates",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="agent",
            name="helpers",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="limits",
            name="children",
            field=models.PositiveIntegerField(default=32),
        ),
        migrations.AddField(
            model_name="limits",
            name="children_at_once",
            field=models.PositiveIntegerField(default=8, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name="limits",
            name="children_depth",
            field=models.PositiveIntegerField(default=2),
        ),
        migrations.AddField(
            model_name="limits",
            name="children_minutes",
            field=models.PositiveIntegerField(default=60, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name="session",
            name="allowed_tools",
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="session",
            name="folder",
            field=models.CharField(blank=True, editable=False, max_length=200),
        ),
        migrations.AddField(
            model_name="session",
            name="root",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="descendants",
                to="tasks_app.session",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="deadline",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="number",
            field=models.PositiveIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="parent_call",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="children",
                to="tasks_app.toolcalllog",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="token_share",
            field=models.PositiveBigIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="usd_share",
            field=models.DecimalField(blank=True, decimal_places=8, editable=False, max_digits=14, null=True),
        ),
        migrations.AlterField(
            model_name="task",
            name="failure_code",
            field=models.CharField(
                blank=True,
                choices=[
                    ("stopped", "Stopped"),
                    ("max_iterations", "Max Iterations"),
                    ("no_tool_call", "No Tool Call"),
                    ("structural_error", "Structural Error"),
                    ("provider_unavailable", "Provider Unavailable"),
                    ("authentication", "Authentication"),
                    ("budget_exceeded", "Budget Exceeded"),
                    ("tool_loop", "Tool Loop"),
                    ("tool_crashed", "Tool Crashed"),
                    ("context_overflow", "Context Overflow"),
                    ("time_limit", "Time Limit"),
                    ("internal", "Internal"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="task",
            name="waiting_for",
            field=models.CharField(
                blank=True,
                choices=[
                    ("reply", "Reply"),
                    ("approval", "Approval"),
                    ("children", "Children"),
                    ("siblings", "Siblings"),
                ],
                default=None,
                max_length=8,
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                condition=models.Q(("folder", ""), _negated=True),
                fields=("root", "folder"),
                name="folder_once_per_root",
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("folder", ""), ("root", None)),
                    models.Q(("root__isnull", False), models.Q(("folder", ""), _negated=True)),
                    _connector="OR",
                ),
                name="session_with_a_root_has_a_folder",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("waiting_for", None),
                    models.Q(("state", "initializing"), ("waiting_for", "siblings")),
                    models.Q(("state", "executing_tool"), ("waiting_for__in", ["reply", "approval", "children"])),
                    _connector="OR",
                ),
                name="task_waits_in_its_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        (
                            "failure_code__in",
                            [
                                "stopped",
                                "max_iterations",
                                "no_tool_call",
                                "structural_error",
                                "provider_unavailable",
                                "authentication",
                                "budget_exceeded",
                                "tool_loop",
                                "tool_crashed",
                                "context_overflow",
                                "time_limit",
                                "internal",
                            ],
                        ),
                        ("state", "failed"),
                    ),
                    models.Q(models.Q(("state", "failed"), _negated=True), ("failure_code", "")),
                    _connector="OR",
                ),
                name="task_failed_has_a_code",
            ),
        ),
        migrations.RemoveConstraint(
            model_name="inboxmessage",
            name="inbox_mode_known",
        ),
        migrations.AlterField(
            model_name="inboxmessage",
            name="mode",
            field=models.CharField(
                choices=[("interject", "Interject"), ("steer", "Steer"), ("queue", "Queue")], max_length=9
            ),
        ),
        migrations.AddConstraint(
            model_name="inboxmessage",
            constraint=models.CheckConstraint(
                condition=models.Q(("mode__in", ["interject", "steer", "queue"])), name="inbox_mode_known"
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="told",
            field=models.CharField(blank=True, editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name="sessionmember",
            name="user",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("instructions", models.TextField(blank=True, max_length=8000)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="tasks_app.agent",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="owned_projects",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "projects",
                "ordering": ["name", "created_at"],
            },
        ),
        migrations.AddField(
            model_name="session",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="sessions",
                to="tasks_app.project",
            ),
        ),
        migrations.CreateModel(
            name="ProjectMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("may_write", models.BooleanField(default=False)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="tasks_app.project"
                    ),
                ),
                (
                    "role",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "project_members",
                "constraints": [
                    models.UniqueConstraint(fields=("project", "user"), name="member_once_per_project"),
                    models.UniqueConstraint(fields=("project", "role"), name="role_once_per_project"),
                    models.CheckConstraint(
                        condition=models.Q(("user__isnull", True), ("role__isnull", True), _connector="XOR"),
                        name="project_member_is_a_person_or_a_role",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LibraryFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.UUIDField(default=uuid.uuid4, editable=False)),
                ("name", models.CharField(max_length=120)),
                ("size", models.PositiveBigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("reading", "Reading"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=7,
                    ),
                ),
                ("problem", models.TextField(blank=True)),
                ("unit", models.CharField(default="page", max_length=20)),
                ("count", models.PositiveIntegerField(default=0)),
                ("pages_read", models.PositiveIntegerField(default=0)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("held_by", models.CharField(blank=True, max_length=100)),
                ("held_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="tasks_app.project"
                    ),
                ),
            ],
            options={
                "db_table": "library_files",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="LibraryPassage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("page", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("terms", models.TextField(editable=False)),
                (
                    "file",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="passages",
                        to="tasks_app.libraryfile",
                    ),
                ),
            ],
            options={
                "db_table": "library_passages",
                "ordering": ["pk"],
            },
        ),
        migrations.AddIndex(
            model_name="libraryfile",
            index=models.Index(
                condition=models.Q(("state__in", ["waiting", "reading"])), fields=["id"], name="library_files_unread"
            ),
        ),
        migrations.AddIndex(
            model_name="librarypassage",
            index=models.Index(fields=["file", "page"], name="library_pas_file_id_abce3a_idx"),
        ),
        migrations.CreateModel(
            name="AgentPicture",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="uploaded_picture",
                        serialize=False,
                        to="tasks_app.agent",
                    ),
                ),
                ("png", models.BinaryField()),
            ],
            options={
                "db_table": "agent_pictures",
            },
        ),
        migrations.AddField(
            model_name="agent",
            name="instructions",
            field=models.TextField(blank=True, max_length=20000),
        ),
        migrations.AddField(
            model_name="agent",
            name="mark",
            field=models.CharField(
                blank=True,
                choices=[
                    ("search", "Lens"),
                    ("tools", "Sliders"),
                    ("chart", "Chart"),
                    ("edit", "Pen"),
                    ("panel", "Page"),
                    ("question", "Question mark"),
                    ("shield", "Shield"),
                    ("inbox", "Inbox"),
                    ("thought", "Thought"),
                    ("folder", "Folder"),
                    ("key", "Key"),
                    ("branch", "Branch"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="max_iterations",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="agent",
            name="picture",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="agent",
            name="roles",
            field=models.ManyToManyField(blank=True, related_name="+", to="auth.group"),
        ),
        migrations.AddField(
            model_name="agent",
            name="skills",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["-created_at", "owner", "root", "project", "id"], name="newest_sessions"),
        ),
        migrations.AddField(
            model_name="memorynote",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notes",
                to="tasks_app.project",
            ),
        ),
        migrations.CreateModel(
            name="PassageVector",
            fields=[
                (
                    "passage",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="vector",
                        serialize=False,
                        to="tasks_app.librarypassage",
                    ),
                ),
                ("model", models.CharField(max_length=200)),
                ("values", models.BinaryField()),
            ],
            options={
                "db_table": "library_vectors",
            },
        ),
        migrations.AddField(
            model_name="libraryfile",
            name="vectors_of",
            field=models.CharField(editable=False, max_length=200, null=True),
        ),
        migrations.AddField(
            model_name="libraryfile",
            name="vectors_problem",
            field=models.TextField(blank=True, editable=False),
        ),
        migrations.AddIndex(
            model_name="libraryfile",
            index=models.Index(
                condition=models.Q(("state", "ready"), ("vectors_of", None)),
                fields=["id"],
                name="library_files_without_vectors",
            ),
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="one_active_task_per_session",
        ),
        migrations.RemoveIndex(
            model_name="task",
            name="active_task_leases",
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("ended_at", None)), fields=["lease_expires_at"], name="active_task_leases"
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("session",), name="one_active_task_per_session"
            ),
        ),
        migrations.RunPython(
            code=switches_to_hooks,
            reverse_code=hooks_to_switches,
        ),
        migrations.RunPython(
            code=size_results_by_window,
            reverse_code=size_results_by_number,
        ),
        migrations.RunPython(
            code=versions_to_changes,
            reverse_code=migrations.RunPython.noop,
        ),
        migrations.RemoveField(
            model_name="agent",
            name="safe_mode",
        ),
        migrations.RemoveField(
            model_name="agent",
            name="autopilot",
        ),
        migrations.RemoveField(
            model_name="agent",
            name="self_verification",
        ),
        migrations.RemoveField(
            model_name="agent",
            name="termination_review",
        ),
        migrations.DeleteModel(
            name="FileVersion",
        ),
    ]
