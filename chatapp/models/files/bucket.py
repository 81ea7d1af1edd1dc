"""The storage of files in an S3-compatible bucket. Importing it takes 0.3 s and 25 MiB."""

from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

WAITS = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 2})
# An open file is kept on the local disk from this size on.
IN_MEMORY_BYTES = 1024 * 1024


class Bucket(S3Storage):  # type: ignore[misc]  # it has no annotations
    """A bucket that does not keep a thread waiting for minutes if it can't be reached."""

    def get_default_settings(self) -> dict[str, Any]:
        ours = {"default_acl": None, "client_config": WAITS, "max_memory_size": IN_MEMORY_BYTES}
        return {**super().get_default_settings(), **ours}
