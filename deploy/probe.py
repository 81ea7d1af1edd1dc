"""Check whether the app on this machine answers: `probe.py PATH [SECONDS]` exits with 0 if PATH
answers with 200, now or within so many seconds.

For the image's health check and for systemd, which have no other client at hand.
"""

import http.client
import os
import sys
import time

PAUSE = 0.2


def main(path: str, patience: str = "0") -> None:
    give_up_at = time.monotonic() + float(patience)
    while not (answers := answers_200(path)) and time.monotonic() < give_up_at:
        time.sleep(PAUSE)
    sys.exit(0 if answers else f"{path} did not answer with 200")


def answers_200(path: str) -> bool:
    host = os.environ.get("HOST") or "127.0.0.1"
    reached_by = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared
    connection = http.client.HTTPConnection(reached_by, int(os.environ.get("PORT") or 8000), 4)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
