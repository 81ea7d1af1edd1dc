"""Firefox and WebKit at the main job, each driven by the protocol that it brings along: WebDriver
BiDi over a WebSocket, and WebDriver over HTTP. Chromium is Playwright's, in `tests/browser`."""
