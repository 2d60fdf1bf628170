from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AppliedValue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=1000, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("applied_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "db_table": "applied_values",
            },
        ),
    ]
