import uuid

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models

import llm_app.encryption


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Blob",
            fields=[
                ("sha256", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("content", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "db_table": "blobs",
            },
        ),
        migrations.CreateModel(
            name="Provider",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "protocol",
                    models.CharField(
                        choices=[
                            ("openai_native", "OpenAI chat completions, native tool calls"),
                            ("anthropic_native", "Anthropic messages, native tool calls"),
                            ("anthropic_xml", "Anthropic messages, tool calls as XML"),
                            ("json_schema", "OpenAI chat completions, replies constrained by a JSON Schema"),
                            ("litellm", "Any other provider, through litellm"),
                            ("scripted", "The demo and test provider that ships with this server"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "base_url",
                    models.CharField(
                        blank=True,
                        max_length=200,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^https?://[^\\s/]", "Write the whole address, with http:// or https://."
                            )
                        ],
                    ),
                ),
                ("api_key", llm_app.encryption.EncryptedTextField(blank=True)),
                ("litellm_provider", models.CharField(blank=True, max_length=50)),
                ("timeout_s", models.FloatField(default=120)),
                ("total_timeout_s", models.FloatField(default=600)),
                ("breaker", models.JSONField(blank=True, default=dict)),
                ("enabled", models.BooleanField(default=True)),
            ],
            options={
                "db_table": "providers",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="LLMLog",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("user_id", models.BigIntegerField(blank=True, null=True)),
                ("task_id", models.UUIDField(blank=True, null=True)),
                ("session_id", models.UUIDField(blank=True, null=True)),
                ("purpose", models.CharField(max_length=10)),
                ("iteration", models.PositiveIntegerField(default=0)),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                ("model", models.CharField(max_length=100)),
                ("provider", models.CharField(max_length=100)),
                ("provider_model", models.CharField(max_length=200)),
                ("adapter", models.CharField(max_length=20)),
                ("adapter_version", models.PositiveSmallIntegerField()),
                ("system_blob", models.CharField(blank=True, max_length=64)),
                ("tools_blob", models.CharField(blank=True, max_length=64)),
                ("compacted_blob", models.CharField(blank=True, max_length=64)),
                ("messages_blob", models.CharField(blank=True, max_length=64)),
                ("cut_seq", models.PositiveIntegerField(default=0)),
                ("last_seq", models.PositiveIntegerField(default=0)),
                ("estimated_tokens", models.PositiveIntegerField(default=0)),
                ("parameters", models.JSONField(default=dict)),
                ("masked_spans", models.JSONField(default=list)),
                ("request_sha256", models.CharField(max_length=64)),
                ("request_bytes", models.PositiveIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[("succeeded", "Succeeded"), ("failed", "Failed"), ("aborted", "Aborted")],
                        max_length=10,
                    ),
                ),
                ("error_type", models.CharField(blank=True, max_length=30)),
                ("error", models.TextField(blank=True)),
                ("finish_reason", models.CharField(blank=True, max_length=50)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("cached_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                ("thinking_tokens", models.PositiveIntegerField(default=0)),
                ("usage_estimated", models.BooleanField(default=False)),
                ("cost_usd", models.DecimalField(blank=True, decimal_places=8, max_digits=14, null=True)),
                ("first_delta_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "LLM call",
                "db_table": "llm_logs",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="LogicalModel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("text", "Text"),
                            ("image", "Images"),
                            ("audio", "Speech"),
                            ("embedding", "Embeddings"),
                        ],
                        default="text",
                        max_length=10,
                    ),
                ),
                ("context_window", models.PositiveIntegerField(default=128000)),
                ("max_output_tokens", models.PositiveIntegerField(default=8192)),
                ("is_default", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name": "model",
                "db_table": "logical_models",
                "ordering": ["-is_default", "name"],
            },
        ),
        migrations.CreateModel(
            name="Reservation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("allowance", models.UUIDField(db_index=True)),
                ("task_id", models.UUIDField(blank=True, db_index=True, null=True)),
                ("usd", models.DecimalField(decimal_places=8, default=0, max_digits=20)),
                ("tokens", models.PositiveBigIntegerField(default=0)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "db_table": "reservations",
            },
        ),
        migrations.CreateModel(
            name="Route",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider_model", models.CharField(max_length=200)),
                ("priority", models.PositiveSmallIntegerField(default=1)),
                ("context_window", models.PositiveIntegerField(blank=True, null=True)),
                ("max_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("temperature", models.FloatField(blank=True, null=True)),
                ("thinking_budget", models.PositiveIntegerField(blank=True, null=True)),
                ("takes_images", models.BooleanField(default=False)),
                ("extra_body", models.JSONField(blank=True, default=dict)),
                ("extra_headers", models.JSONField(blank=True, default=dict)),
                ("price", models.JSONField(blank=True, default=dict)),
                ("quirks", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "db_table": "routes",
                "ordering": ["model", "priority"],
            },
        ),
        migrations.CreateModel(
            name="Secret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("value", llm_app.encryption.EncryptedTextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "db_table": "secrets",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="ServiceKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=150, unique=True)),
                ("value", llm_app.encryption.EncryptedTextField()),
            ],
            options={
                "db_table": "service_keys",
            },
        ),
        migrations.CreateModel(
            name="Spending",
            fields=[
                ("key", models.CharField(max_length=60, primary_key=True, serialize=False)),
                ("usd", models.DecimalField(decimal_places=8, default=0, max_digits=20)),
                ("tokens", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "spending",
                "db_table": "spending",
            },
        ),
        migrations.CreateModel(
            name="BreakerChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "before",
                    models.CharField(
                        choices=[("closed", "closed"), ("open", "open"), ("half_open", "half-open")], max_length=9
                    ),
                ),
                (
                    "after",
                    models.CharField(
                        choices=[("closed", "closed"), ("open", "open"), ("half_open", "half-open")], max_length=9
                    ),
                ),
                ("reason", models.TextField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
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
                "db_table": "breaker_changes",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Budget",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "usd_per_task",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        max_digits=14,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="USD per task",
                    ),
                ),
                (
                    "usd_per_day",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        max_digits=14,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="USD per day",
                    ),
                ),
                (
                    "usd_per_month",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        max_digits=14,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="USD per month",
                    ),
                ),
                ("tokens_per_task", models.PositiveBigIntegerField(blank=True, null=True)),
                ("tokens_per_day", models.PositiveBigIntegerField(blank=True, null=True)),
                ("tokens_per_month", models.PositiveBigIntegerField(blank=True, null=True)),
                (
                    "role",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="budget",
                        to="auth.group",
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="budget",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "budgets",
            },
        ),
        migrations.CreateModel(
            name="CircuitBreaker",
            fields=[
                (
                    "provider",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="circuit_breaker",
                        serialize=False,
                        to="llm_app.provider",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("closed", "closed"), ("open", "open"), ("half_open", "half-open")],
                        default="closed",
                        max_length=9,
                    ),
                ),
                ("forced", models.BooleanField(default=False)),
                ("key_refused", models.BooleanField(default=False)),
                ("reason", models.TextField(blank=True)),
                ("probe_at", models.DateTimeField(blank=True, null=True)),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("changed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "circuit_breakers",
            },
        ),
        migrations.AddConstraint(
            model_name="provider",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "protocol__in",
                        ["openai_native", "anthropic_native", "anthropic_xml", "json_schema", "litellm", "scripted"],
                    )
                ),
                name="provider_protocol_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="provider",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("protocol", "litellm"), _negated=True),
                    models.Q(("litellm_provider", ""), _negated=True),
                    _connector="OR",
                ),
                name="provider_litellm_names_its_provider",
            ),
        ),
        migrations.AddField(
            model_name="breakerchange",
            name="provider",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="breaker_changes", to="llm_app.provider"
            ),
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["task_id", "created_at"], name="llm_logs_task_id_ecdd93_idx"),
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["session_id", "-created_at"], name="llm_logs_session_ae3178_idx"),
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["provider", "-created_at"], name="llm_logs_provide_d41a1b_idx"),
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["user_id", "created_at"], name="llm_logs_user_id_7e5242_idx"),
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["created_at"], name="llm_logs_created_1fdf9f_idx"),
        ),
        migrations.AddConstraint(
            model_name="llmlog",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["succeeded", "failed", "aborted"])), name="llm_log_status_known"
            ),
        ),
        migrations.AddField(
            model_name="logicalmodel",
            name="roles",
            field=models.ManyToManyField(blank=True, related_name="+", to="auth.group"),
        ),
        migrations.AddField(
            model_name="route",
            name="model",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="routes", to="llm_app.logicalmodel"
            ),
        ),
        migrations.AddField(
            model_name="route",
            name="provider",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="routes", to="llm_app.provider"
            ),
        ),
        migrations.AddField(
            model_name="secret",
            name="owner",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="secrets",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reservation",
            name="spending",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="reservations", to="llm_app.spending"
            ),
        ),
        migrations.AddConstraint(
            model_name="budget",
            constraint=models.CheckConstraint(
                condition=models.Q(("user", None), ("role", None), _connector="OR"),
                name="budget_of_a_user_or_of_a_role",
            ),
        ),
        migrations.AddConstraint(
            model_name="budget",
            constraint=models.UniqueConstraint(
                django.db.models.functions.comparison.Coalesce("user", 0),
                condition=models.Q(("role", None), ("user", None)),
                name="one_budget_of_all",
            ),
        ),
        migrations.AddConstraint(
            model_name="circuitbreaker",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["closed", "open", "half_open"])), name="breaker_state_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="logicalmodel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)), fields=("is_default",), name="one_default_model"
            ),
        ),
        migrations.AddConstraint(
            model_name="logicalmodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["text", "image", "audio", "embedding"])), name="model_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="logicalmodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_default", False), ("kind", "text"), _connector="OR"),
                name="default_model_is_of_text",
            ),
        ),
        migrations.AddConstraint(
            model_name="route",
            constraint=models.UniqueConstraint(
                fields=("model", "provider", "provider_model"), name="one_route_per_target"
            ),
        ),
        migrations.AddConstraint(
            model_name="secret",
            constraint=models.UniqueConstraint(fields=("owner", "name"), name="secret_name_once_per_owner"),
        ),
        migrations.AddConstraint(
            model_name="secret",
            constraint=models.UniqueConstraint(
                condition=models.Q(("owner", None)), fields=("name",), name="secret_name_once_per_team"
            ),
        ),
    ]
