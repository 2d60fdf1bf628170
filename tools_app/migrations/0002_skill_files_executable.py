from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tools_app", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="skillfile",
            name="executable",
            field=models.BooleanField(default=False),
        ),
    ]
