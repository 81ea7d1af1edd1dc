"""Data shared by tests of `chatapp.upstream.wire`."""

import base64

IMAGE_BYTES = b"\x89PNG\r\n\x1a\n and more"
PNG = f"data:image/png;base64,{base64.b64encode(IMAGE_BYTES).decode()}"
