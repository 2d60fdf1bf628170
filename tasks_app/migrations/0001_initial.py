import uuid

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("llm_app", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="EngineProcess",
            fields=[
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "engine processes",
                "db_table": "engine_processes",
                "ordering": ["-seen_at"],
            },
        ),
        migrations.CreateModel(
            name="Workflow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True)),
            ],
            options={
                "db_table": "workflows",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True)),
                ("is_default", models.BooleanField(default=False)),
                ("denied_tools", models.JSONField(blank=True, default=list)),
                ("safe_mode", models.BooleanField(default=False)),
                ("autopilot", models.BooleanField(default=False)),
                ("self_verification", models.BooleanField(default=False)),
                ("termination_review", models.BooleanField(default=False)),
                ("withheld_patterns", models.JSONField(blank=True, default=list)),
                ("prune_outputs", models.BooleanField(default=False)),
                ("shorten_results", models.BooleanField(default=False)),
                ("summarise", models.BooleanField(default=False)),
                (
                    "model",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to="llm_app.logicalmodel"
                    ),
                ),
                (
                    "review_model",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="llm_app.logicalmodel",
                    ),
                ),
            ],
            options={
                "db_table": "agents",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=255)),
                ("request_sha256", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "idempotency_keys",
            },
        ),
        migrations.CreateModel(
            name="Limits",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("max_iterations", models.PositiveIntegerField(default=60)),
                ("tool_loop_threshold", models.PositiveIntegerField(default=5)),
                ("tool_loop_window", models.PositiveIntegerField(default=20)),
                ("tool_loop_refusals", models.PositiveIntegerField(default=3)),
                ("no_tool_call_retries", models.PositiveIntegerField(default=3)),
                ("result_tokens", models.PositiveIntegerField(default=2500)),
                ("compact_at_percent", models.PositiveSmallIntegerField(default=80)),
                ("tail_percent", models.PositiveSmallIntegerField(default=15)),
                (
                    "approval_hours",
                    models.PositiveIntegerField(default=24, validators=[django.core.validators.MinValueValidator(1)]),
                ),
                ("tool_call_limit", models.PositiveIntegerField(blank=True, null=True)),
                ("stale_plan_after", models.PositiveIntegerField(default=10)),
                ("budget_reminder_percent", models.PositiveSmallIntegerField(default=80)),
                ("workspace_bytes", models.PositiveBigIntegerField(default=2000000000)),
            ],
            options={
                "verbose_name_plural": "limits",
                "db_table": "limits",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("pk", 1)), name="limits_one_row"),
                    models.CheckConstraint(
                        condition=models.Q(("compact_at_percent__range", (10, 90))), name="limits_compact_at_in_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tail_percent__range", (1, 40))), name="limits_tail_in_range"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField(max_length=1000)),
                ("terms", models.TextField(blank=True, editable=False)),
                ("auto", models.BooleanField(default=False, editable=False)),
                ("call_id", models.CharField(blank=True, editable=False, max_length=100)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memory_notes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "memory_notes",
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="NoteVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(max_length=200)),
                ("digest", models.CharField(max_length=64)),
                ("values", models.BinaryField()),
                (
                    "note",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="vectors", to="tasks_app.memorynote"
                    ),
                ),
            ],
            options={
                "db_table": "memory_vectors",
            },
        ),
        migrations.CreateModel(
            name="PromptSection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "section",
                    models.CharField(
                        choices=[
                            ("identity", "Who the agent is"),
                            ("guardrails", "What it never does, whoever asks"),
                            ("language", "In which language it writes"),
                            ("format", "How its messages look"),
                            ("agent_loop", "How it works, turn by turn"),
                            ("tool_protocol", "The rules for tool calls"),
                            ("tool_use", "How it chooses and uses tools"),
                            ("error_handling", "What it does when something fails"),
                            ("environment", "What it knows of the workspace and its programs"),
                            ("browser", "How it uses the browser, where there is one"),
                            ("secrets", "How it handles secrets and personal data"),
                            ("prompt_injection", "What it makes of instructions in texts that it reads"),
                        ],
                        max_length=20,
                    ),
                ),
                ("text", models.TextField(blank=True, max_length=20000)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sections", to="tasks_app.agent"
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
                "db_table": "prompt_sections",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("title", models.CharField(blank=True, max_length=200)),
                ("denied_tools", models.JSONField(blank=True, default=list)),
                ("off_record", models.BooleanField(default=False)),
                ("parent_seq", models.PositiveIntegerField(blank=True, editable=False, null=True)),
                ("workdir", models.CharField(blank=True, editable=False, max_length=1000)),
                ("summary", models.TextField(blank=True)),
                ("next_steps", models.JSONField(blank=True, default=list)),
                ("last_seq", models.PositiveIntegerField(default=0)),
                ("chain_head", models.CharField(blank=True, max_length=64)),
                ("held_by", models.CharField(blank=True, editable=False, max_length=100)),
                ("held", models.JSONField(blank=True, default=dict, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="sessions",
                        to="tasks_app.agent",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to="llm_app.logicalmodel"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="owned_sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="forks",
                        to="tasks_app.session",
                    ),
                ),
            ],
            options={
                "db_table": "sessions",
                "ordering": ["-updated_at"],
            },
        ),
        migrations.CreateModel(
            name="Loaded",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("group", "Group of tools"), ("skill", "Skill")], max_length=5)),
                ("name", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="loaded", to="tasks_app.session"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "loaded",
                "db_table": "loaded",
            },
        ),
        migrations.CreateModel(
            name="SessionMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("may_write", models.BooleanField(default=False)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="tasks_app.session"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "session_members",
            },
        ),
        migrations.AddField(
            model_name="session",
            name="members",
            field=models.ManyToManyField(
                related_name="shared_sessions", through="tasks_app.SessionMember", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("initializing", "Initializing"),
                            ("thinking", "Thinking"),
                            ("executing_tool", "Executing Tool"),
                            ("finalizing", "Finalizing"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="initializing",
                        max_length=14,
                    ),
                ),
                (
                    "waiting_for",
                    models.CharField(
                        blank=True,
                        choices=[("reply", "Reply"), ("approval", "Approval")],
                        default=None,
                        max_length=8,
                        null=True,
                    ),
                ),
                ("stop_requested_at", models.DateTimeField(blank=True, null=True)),
                ("stopped", models.BooleanField(default=False)),
                (
                    "failure_code",
                    models.CharField(
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
                            ("internal", "Internal"),
                        ],
                        max_length=20,
                    ),
                ),
                ("failure_detail", models.TextField(blank=True)),
                ("iteration", models.PositiveIntegerField(default=0)),
                ("max_iterations", models.PositiveIntegerField(blank=True, null=True)),
                ("calls_made", models.PositiveIntegerField(default=0)),
                ("shown_tools", models.JSONField(blank=True, default=list)),
                ("reminded", models.JSONField(blank=True, default=dict)),
                ("workflow", models.JSONField(blank=True, default=dict)),
                ("plan", models.JSONField(blank=True, default=list)),
                ("output_schema", models.TextField(blank=True)),
                ("misfits", models.PositiveSmallIntegerField(default=0)),
                ("final_result", models.JSONField(blank=True, null=True)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("cached_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("thinking_tokens", models.PositiveBigIntegerField(default=0)),
                ("cost_usd", models.DecimalField(blank=True, decimal_places=8, max_digits=14, null=True)),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("lease_owner", models.CharField(blank=True, max_length=100)),
                ("lease_expires_at", models.DateTimeField(blank=True, null=True)),
                ("crashes", models.PositiveSmallIntegerField(default=0)),
                ("woken_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tasks", to="tasks_app.session"
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "tasks",
                "ordering": ["-created_at"],
            },
        ),
        migrations.AddField(
            model_name="memorynote",
            name="task",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="tasks_app.task",
            ),
        ),
        migrations.CreateModel(
            name="FileVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=4096)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="file_versions",
                        to="tasks_app.session",
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
                "db_table": "file_versions",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="ContextEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveIntegerField()),
                (
                    "context_type",
                    models.CharField(
                        choices=[
                            ("user_message", "User Message"),
                            ("ai_message", "Ai Message"),
                            ("tool_call", "Tool Call"),
                            ("tool_result", "Tool Result"),
                            ("system_reminder", "System Reminder"),
                            ("status_notice", "Status Notice"),
                            ("no_tool_call_retry", "No Tool Call Retry"),
                            ("workflow_step", "Workflow Step"),
                        ],
                        max_length=20,
                    ),
                ),
                ("in_context", models.BooleanField()),
                ("role", models.CharField(max_length=10)),
                ("content", models.TextField(blank=True)),
                ("thinking", models.TextField(blank=True)),
                ("tool_call", models.TextField(blank=True)),
                ("tool_call_id", models.CharField(blank=True, max_length=100)),
                ("images", models.TextField(blank=True)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField()),
                ("hash", models.CharField(max_length=64)),
                ("hash_key", models.CharField(max_length=16)),
                ("masked_with", models.CharField(blank=True, max_length=16)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="entries", to="tasks_app.session"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="entries", to="tasks_app.task"
                    ),
                ),
            ],
            options={
                "verbose_name": "entry",
                "verbose_name_plural": "entries",
                "db_table": "task_context",
                "ordering": ["session", "seq"],
            },
        ),
        migrations.CreateModel(
            name="ContextCut",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("window", models.PositiveIntegerField()),
                ("seq", models.PositiveIntegerField()),
                ("blob", models.CharField(max_length=64)),
                ("masked_with", models.CharField(blank=True, max_length=16)),
                ("summary_seq", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("filled", "The window was nearly full"),
                            ("refused", "The provider refused the request as too long"),
                        ],
                        max_length=7,
                    ),
                ),
                ("tokens_before", models.PositiveIntegerField()),
                ("tokens_after", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="cuts", to="tasks_app.session"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="cuts", to="tasks_app.task"
                    ),
                ),
            ],
            options={
                "verbose_name": "cut",
                "db_table": "context_cuts",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="ToolCallLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("session_id", models.UUIDField()),
                ("call_id", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=100)),
                ("arguments", models.TextField(blank=True)),
                ("fingerprint", models.CharField(max_length=64)),
                ("danger", models.CharField(blank=True, max_length=10)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("started", "Started"),
                            ("waiting", "Waiting"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("blocked", "Blocked"),
                            ("rejected", "Rejected"),
                            ("interrupted", "Interrupted"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=11,
                    ),
                ),
                ("looped", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_calls", to="tasks_app.task"
                    ),
                ),
            ],
            options={
                "verbose_name": "tool call",
                "db_table": "tool_call_logs",
                "ordering": ["-started_at"],
            },
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fingerprint", models.CharField(max_length=64)),
                ("reason", models.CharField(max_length=300)),
                (
                    "decision",
                    models.CharField(
                        choices=[("pending", "Pending"), ("approved", "Approved"), ("rejected", "Rejected")],
                        default="pending",
                        max_length=8,
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[("once", "This call"), ("task", "Such calls in this task")],
                        default="once",
                        max_length=4,
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("consumed_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tool_call",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="approval", to="tasks_app.toolcalllog"
                    ),
                ),
            ],
            options={
                "db_table": "approvals",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="InboxMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mode", models.CharField(choices=[("interject", "Interject"), ("queue", "Queue")], max_length=9)),
                ("content", models.TextField()),
                ("attachments", models.JSONField(blank=True, default=list)),
                ("images", models.JSONField(blank=True, default=list)),
                ("output_schema", models.TextField(blank=True)),
                ("delivered_seq", models.PositiveIntegerField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="inbox", to="tasks_app.session"
                    ),
                ),
                (
                    "workflow",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="tasks_app.workflow",
                    ),
                ),
            ],
            options={
                "db_table": "inbox_messages",
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="WorkflowStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=200)),
                ("instructions", models.TextField()),
                (
                    "workflow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="tasks_app.workflow"
                    ),
                ),
            ],
            options={
                "db_table": "workflow_steps",
                "ordering": ["workflow", "position", "pk"],
            },
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)), fields=("is_default",), name="one_default_agent"
            ),
        ),
        migrations.AddConstraint(
            model_name="idempotencykey",
            constraint=models.UniqueConstraint(fields=("user", "key"), name="idempotency_key_once_per_user"),
        ),
        migrations.AddConstraint(
            model_name="notevector",
            constraint=models.UniqueConstraint(fields=("note", "model"), name="one_vector_per_note_and_model"),
        ),
        migrations.AddIndex(
            model_name="promptsection",
            index=models.Index(fields=["agent", "section"], name="versions_of_a_section"),
        ),
        migrations.AddConstraint(
            model_name="loaded",
            constraint=models.UniqueConstraint(fields=("session", "kind", "name"), name="loaded_once"),
        ),
        migrations.AddConstraint(
            model_name="loaded",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["group", "skill"])), name="loaded_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="sessionmember",
            constraint=models.UniqueConstraint(fields=("session", "user"), name="member_once_per_session"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["owner", "-updated_at"], name="sessions_owner_i_fa7cf3_idx"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("held_by", ""), _negated=True), fields=["held_by"], name="held_sessions"
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["session", "-created_at"], name="tasks_session_5807dc_idx"),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("state__in", ("initializing", "thinking", "executing_tool", "finalizing"))),
                fields=["lease_expires_at"],
                name="active_task_leases",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("initializing", "thinking", "executing_tool", "finalizing"))),
                fields=("session",),
                name="one_active_task_per_session",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["initializing", "thinking", "executing_tool", "finalizing", "done", "failed"])
                ),
                name="task_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("waiting_for", None),
                    models.Q(("state", "executing_tool"), ("waiting_for__in", ["reply", "approval"])),
                    _connector="OR",
                ),
                name="task_waits_only_in_executing_tool",
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
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", False), ("state__in", ("done", "failed"))),
                    models.Q(
                        ("ended_at", None), ("state__in", ("initializing", "thinking", "executing_tool", "finalizing"))
                    ),
                    _connector="OR",
                ),
                name="task_ended_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("stopped", False), ("failure_code", "stopped"), _connector="OR"),
                name="task_stopped_is_failed",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "done"), _negated=True), ("final_result__isnull", False), _connector="OR"
                ),
                name="task_done_has_a_result",
            ),
        ),
        migrations.AddIndex(
            model_name="memorynote",
            index=models.Index(fields=["owner", "-created_at"], name="memory_note_owner_i_1613f0_idx"),
        ),
        migrations.AddIndex(
            model_name="fileversion",
            index=models.Index(fields=["session", "path", "-id"], name="file_versio_session_6d399a_idx"),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.UniqueConstraint(fields=("session", "seq"), name="entry_seq_once_per_session"),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.UniqueConstraint(
                condition=models.Q(("context_type", "tool_result")),
                fields=("session", "tool_call_id"),
                name="one_result_per_tool_call",
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
                        ],
                    )
                ),
                name="entry_type_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["user", "assistant", "tool", "system"])), name="entry_role_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("context_type", "tool_result"), ("tool_call_id", ""), _connector="XOR"),
                name="entry_result_names_its_call",
            ),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("context_type", "tool_call"), _negated=True),
                    models.Q(("tool_call", ""), _negated=True),
                    _connector="OR",
                ),
                name="entry_tool_call_has_a_call",
            ),
        ),
        migrations.AddConstraint(
            model_name="contextentry",
            constraint=models.CheckConstraint(condition=models.Q(("seq__gt", 0)), name="entry_seq_from_one"),
        ),
        migrations.AddIndex(
            model_name="contextcut",
            index=models.Index(fields=["session", "window", "-id"], name="newest_cut_of_a_window"),
        ),
        migrations.AddConstraint(
            model_name="contextcut",
            constraint=models.CheckConstraint(
                condition=models.Q(("cause__in", ["filled", "refused"])), name="context_cut_cause_known"
            ),
        ),
        migrations.AddIndex(
            model_name="toolcalllog",
            index=models.Index(fields=["task", "started_at"], name="tool_call_l_task_id_0a6135_idx"),
        ),
        migrations.AddConstraint(
            model_name="toolcalllog",
            constraint=models.UniqueConstraint(fields=("session_id", "call_id"), name="tool_call_id_once_per_session"),
        ),
        migrations.AddConstraint(
            model_name="toolcalllog",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        [
                            "pending",
                            "started",
                            "waiting",
                            "succeeded",
                            "failed",
                            "blocked",
                            "rejected",
                            "interrupted",
                            "unknown",
                        ],
                    )
                ),
                name="tool_call_status_known",
            ),
        ),
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("decision", "pending")), fields=["expires_at"], name="pending_approvals"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("decision__in", ["pending", "approved", "rejected"])),
                name="approval_decision_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("scope__in", ["once", "task"])), name="approval_scope_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("consumed_at", None), ("decision", "approved"), _connector="OR"),
                name="approval_consumed_was_given",
            ),
        ),
        migrations.AddIndex(
            model_name="inboxmessage",
            index=models.Index(
                condition=models.Q(("delivered_seq", None)), fields=["session"], name="waiting_messages"
            ),
        ),
        migrations.AddConstraint(
            model_name="inboxmessage",
            constraint=models.CheckConstraint(
                condition=models.Q(("mode__in", ["interject", "queue"])), name="inbox_mode_known"
            ),
        ),
    ]
