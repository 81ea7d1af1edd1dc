"""The storage of files in an S3-compatible bucket. Importing it takes 0.3 s and 25 MiB."""

from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

WAITS = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 2})


class Bucket(S3Storage):  # type: ignore[misc]  # it has no annotations
    """A bucket that does not keep a thread waiting for minutes if it can't be reached."""

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "default_acl": None, "client_config": WAITS}
