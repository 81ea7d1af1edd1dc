"""Benchmarks: the whole app as its own process, driven from outside. `make bench` prints a table
and writes docs/performance.md.

The app is started by `manage.py serve` on a fresh database, its upstream is a scripted one in a
second process, and this process plays the browser tabs: it signs in, reads the page, sends the
composer's form over the WebSocket and reads HTML frames. It imports nothing of the app. What it
does there it does at a bare proxy, too (`bench/limit.py`), which tells the app's part from the
machine's.
"""
