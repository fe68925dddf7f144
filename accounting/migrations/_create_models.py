"""Creates the tables of many models at once. Part of migrations: it never changes."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateModels(Operation):
    """`CreateModel` for each of several models, in their order.

    After each model, Django makes the classes of all related models again: 8,900 classes for our 140
    tables, which is most of the time that a new database takes. Here they are made once, when the
    first table is created.
    """

    def __init__(self, models: Sequence[CreateModel]) -> None:
        """Take the operations of the models; a model comes after those that it refers to."""
        self.models = models

    def deconstruct(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        """As Django writes operations."""
        return (self.__class__.__qualname__, [], {"models": self.models})

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Add the models; classes that were made before are made again when they are needed."""
        state.__dict__.pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Create the tables."""
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Drop the tables, the last one first."""
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """For `sqlmigrate` and `migrate --plan`."""
        return f"Create {len(self.models)} models"
