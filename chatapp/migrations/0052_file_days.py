from collections.abc import Sequence
from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename a field, and keep the name of its column, which older processes read."""

    dependencies: ClassVar[Sequence[tuple[str, str]]] = [("chatapp", "0051_images_of_models")]

    operations: ClassVar[Sequence[migrations.operations.base.Operation]] = [
        migrations.AlterField(
            "installation",
            "image_days",
            models.PositiveIntegerField(db_column="image_days", editable=False, null=True),
        ),
        migrations.RenameField("installation", "image_days", "file_days"),
    ]
