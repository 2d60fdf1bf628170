"""Operations of migrations that Django lacks."""

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddField
from django.db.migrations.state import ProjectState


class AddMissingField(AddField):
    """Add a field unless the database has its column, or the table of its many-to-many relation.

    Databases of the weeks before version 1.0 have some of these fields by migrations that no longer exist.
    """

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        field: Any = to_state.apps.get_model(app_label, self.model_name)._meta.get_field(self.name)
        introspection = schema_editor.connection.introspection
        with schema_editor.connection.cursor() as cursor:
            if field.many_to_many:
                is_stored = field.remote_field.through._meta.db_table in introspection.table_names(cursor)
            else:
                columns = introspection.get_table_description(cursor, field.model._meta.db_table)
                is_stored = field.column in {column.name for column in columns}
        if not is_stored:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
