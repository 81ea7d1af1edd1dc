"""A renderer with one worker."""

from collections.abc import Iterator

import pytest

from chatapp.rendering.pool import Renderer


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    renderer = Renderer(workers=1)
    yield renderer
    renderer.pool.close()
