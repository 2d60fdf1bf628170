"""The part of a model that migrations describe: its columns and constraints, without the help texts of forms."""

from typing import Any

from django.db.migrations.autodetector import MigrationAutodetector


class SchemaAutodetector(MigrationAutodetector):
    """Django's autodetector without help texts, so that a better sentence in the admin needs no migration."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for state in (self.from_state, self.to_state):
            for model in state.models.values():
                for field in model.fields.values():
                    field.help_text = ""
