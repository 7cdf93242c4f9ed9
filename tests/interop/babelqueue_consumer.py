"""Consumes queues with BabelQueue until they are empty, and prints what its handlers were given, a line of JSON each.

    babelqueue_consumer.py URL '{"queues": [..], "jobs": [..], "laravel": BOOL, "fail_below": {ID: ATTEMPTS}}'

With `laravel` the queues are those of Laravel's layout on Redis. A message of an id in `fail_below` fails as long as its
envelope counts fewer attempts than that.
"""

from __future__ import annotations

import base64
import json
import logging
import sys
from typing import Any

from babelqueue import BabelQueue, headers_from_context, is_replay
from babelqueue.redis_transport import RedisTransport
from babelqueue.transport import ReceivedMessage, make_transport

#: Deliveries of a message, all in all, before it is a dead letter.
MAX_ATTEMPTS = 3


class Witness(BabelQueue):
    """The runtime as it is, but that it keeps the body of the message at hand, which handlers do not see."""

    body = b""

    def dispatch(self, received: ReceivedMessage) -> None:
        # The transports read bytes that are not UTF-8 in this form.
        self.body = received.body.encode("utf-8", "surrogateescape")
        super().dispatch(received)


def main(url: str, wanted: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.WARNING)
    # The client for Redis refuses the parameter `laravel` in a URL, which BabelQueue hands on to it.
    transport = RedisTransport(url, laravel_compat=True) if wanted["laravel"] else make_transport(url)
    app = Witness(transport=transport, max_attempts=MAX_ATTEMPTS, dead_letter=True)
    fail_below: dict[str, int] = wanted["fail_below"]

    def handle(data: dict[str, Any], meta: dict[str, Any], envelope: dict[str, Any]) -> None:
        seen = {
            "queue": queue,
            "body": base64.b64encode(app.body).decode("ascii"),
            "id": meta["id"],
            "job": envelope["job"],
            "trace_id": envelope["trace_id"],
            "attempts": envelope["attempts"],
            "headers": dict(headers_from_context()),
            "replay": is_replay(),
        }
        print(json.dumps(seen), flush=True)
        if envelope["attempts"] < fail_below.get(meta["id"], 0):
            raise RuntimeError("told to fail")

    for job in wanted["jobs"]:
        app.register(job, handle)
    for queue in wanted["queues"]:
        # With an upper limit it returns when there is nothing left.
        app.consume(queue, max_messages=sys.maxsize, timeout=0)
    transport.close()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
