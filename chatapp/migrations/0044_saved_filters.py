"""Call the filters of saved views and samples by their name. Their columns stay."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("chatapp", "0043_plain_names")]

    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                operation
                for model in ("reviewview", "reviewsample")
                for operation in (
                    migrations.RenameField(model, "asked", "filters"),
                    migrations.AlterField(
                        model, "filters", models.JSONField(db_column="asked")
                    ),
                )
            ]
        )
    ]
