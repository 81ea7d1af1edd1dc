"""Benchmarks: the whole app as a process of its own, driven from outside. `make bench` prints a
table and writes docs/performance.md.

The app is started by `manage.py serve` on a fresh database, with a scripted upstream in a second
process, while this process plays the browser tabs: it signs in, reads the page, sends the
composer's form over the WebSocket and reads HTML frames. It imports nothing of the app. It does the
same with a bare proxy (`bench/limit.py`), which separates the app's share from the machine's.
"""
