import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="AllowedAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("address", models.CharField(max_length=255, unique=True)),
            ],
            options={
                "verbose_name_plural": "allowed addresses",
                "db_table": "allowed_addresses",
                "ordering": ["address"],
            },
        ),
        migrations.CreateModel(
            name="McpServer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        max_length=30,
                        unique=True,
                        validators=[django.core.validators.RegexValidator("^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*\\Z")],
                    ),
                ),
                ("description", models.CharField(blank=True, max_length=300)),
                (
                    "transport",
                    models.CharField(
                        choices=[
                            ("stdio", "A program on this server (stdio)"),
                            ("streamable_http", "An address (streamable HTTP)"),
                        ],
                        max_length=15,
                    ),
                ),
                ("command", models.JSONField(blank=True, default=list)),
                ("environment", models.JSONField(blank=True, default=dict)),
                (
                    "url",
                    models.CharField(
                        blank=True,
                        max_length=500,
                        validators=[django.core.validators.RegexValidator("^https?://[^\\s/]")],
                    ),
                ),
                ("headers", models.JSONField(blank=True, default=dict)),
                ("credential", models.CharField(blank=True, max_length=100)),
                (
                    "timeout_s",
                    models.PositiveIntegerField(default=60, validators=[django.core.validators.MinValueValidator(1)]),
                ),
                (
                    "danger",
                    models.CharField(
                        choices=[("safe", "Safe"), ("moderate", "Moderate"), ("dangerous", "Dangerous")],
                        default="moderate",
                        max_length=10,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("listed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("fault", models.TextField(blank=True, editable=False)),
                ("roles", models.ManyToManyField(blank=True, related_name="+", to="auth.group")),
            ],
            options={
                "verbose_name": "MCP server",
                "db_table": "mcp_servers",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="McpTool",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("description", models.TextField(blank=True)),
                ("schema", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                ("confirmed", models.CharField(blank=True, max_length=64)),
                ("is_gone", models.BooleanField(default=False)),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tools", to="tools_app.mcpserver"
                    ),
                ),
            ],
            options={
                "verbose_name": "MCP tool",
                "db_table": "mcp_tools",
                "ordering": ["server", "name"],
            },
        ),
        migrations.CreateModel(
            name="RolePolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("allow", models.JSONField(blank=True, default=list)),
                ("deny", models.JSONField(blank=True, default=list)),
                ("approvals", models.JSONField(blank=True, default=dict)),
                (
                    "role",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_policy", to="auth.group"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "role policies",
                "db_table": "role_policies",
            },
        ),
        migrations.CreateModel(
            name="SearchEngine",
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
                        choices=[
                            ("tavily", "Tavily"),
                            ("brave", "Brave"),
                            ("exa", "Exa"),
                            ("serper", "Serper (Google)"),
                            ("bocha", "Bocha"),
                            ("searxng", "SearXNG"),
                            ("ddgs", "Public engines, without a key (ddgs)"),
                        ],
                        max_length=10,
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
                ("priority", models.PositiveSmallIntegerField(default=1)),
                ("enabled", models.BooleanField(default=True)),
            ],
            options={
                "db_table": "search_engines",
                "ordering": ["priority", "pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["tavily", "brave", "exa", "serper", "bocha", "searxng", "ddgs"])
                        ),
                        name="search_engine_kind_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Skill",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                ("description", models.CharField(max_length=500)),
                ("body", models.TextField()),
                ("enabled", models.BooleanField(default=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                ("roles", models.ManyToManyField(blank=True, related_name="+", to="auth.group")),
            ],
            options={
                "db_table": "skills",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="SkillFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=300)),
                ("content", models.BinaryField()),
                (
                    "skill",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="tools_app.skill"
                    ),
                ),
            ],
            options={
                "db_table": "skill_files",
                "ordering": ["path"],
            },
        ),
        migrations.CreateModel(
            name="ToolSetting",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("enabled", models.BooleanField(default=True)),
                (
                    "danger",
                    models.CharField(
                        blank=True,
                        choices=[("safe", "Safe"), ("moderate", "Moderate"), ("dangerous", "Dangerous")],
                        max_length=10,
                    ),
                ),
                (
                    "approval",
                    models.CharField(
                        choices=[
                            ("never", "Never ask"),
                            ("by_danger", "Ask when a call is dangerous"),
                            ("always", "Always ask"),
                        ],
                        default="by_danger",
                        max_length=10,
                    ),
                ),
                ("four_eyes", models.BooleanField(default=False)),
                ("hosts", models.JSONField(blank=True, default=list)),
                (
                    "approvers",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="auth.group",
                    ),
                ),
            ],
            options={
                "db_table": "tool_settings",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="UserPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("deny", models.JSONField(blank=True, default=list)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_policy",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "user policies",
                "db_table": "user_policies",
            },
        ),
        migrations.CreateModel(
            name="CachedSearch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64)),
                ("content", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "cached_searches",
                "indexes": [models.Index(fields=["user", "key"], name="cached_sear_user_id_7a6ca3_idx")],
            },
        ),
        migrations.AddConstraint(
            model_name="mcpserver",
            constraint=models.CheckConstraint(
                condition=models.Q(("transport__in", ["stdio", "streamable_http"])), name="mcp_transport_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="mcpserver",
            constraint=models.CheckConstraint(
                condition=models.Q(("danger__in", ["safe", "moderate", "dangerous"])), name="mcp_danger_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="mcptool",
            constraint=models.UniqueConstraint(fields=("server", "name"), name="mcp_tool_once_per_server"),
        ),
        migrations.AddConstraint(
            model_name="skillfile",
            constraint=models.UniqueConstraint(fields=("skill", "path"), name="skill_file_once"),
        ),
        migrations.AddConstraint(
            model_name="toolsetting",
            constraint=models.CheckConstraint(
                condition=models.Q(("approval__in", ["never", "by_danger", "always"])),
                name="tool_setting_approval_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="toolsetting",
            constraint=models.CheckConstraint(
                condition=models.Q(("danger__in", ["", "safe", "moderate", "dangerous"])),
                name="tool_setting_danger_known",
            ),
        ),
    ]
