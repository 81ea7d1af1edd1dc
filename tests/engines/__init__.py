"""Firefox and WebKit doing the main job, each driven by its own protocol: WebDriver BiDi over a
WebSocket, and WebDriver over HTTP. Chromium is driven by Playwright in `tests/browser`."""
