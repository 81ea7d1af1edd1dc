"""The backend, in the module that Django looks for."""

from django.db.backends.postgresql import base
from django.db.backends.postgresql.schema import DatabaseSchemaEditor as PostgresSchemaEditor

from chatapp.db.schema_editors import WithoutTriggers


class DatabaseSchemaEditor(WithoutTriggers, PostgresSchemaEditor):
    pass


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor
