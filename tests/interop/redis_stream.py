"""Reads a Redis stream from its beginning, and prints its entries, a line of JSON each: `redis_stream.py URL STREAM`."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

import redis


def main(url: str, stream: str) -> None:
    client = redis.Redis.from_url(url)
    for _, fields in client.xrange(stream):
        entry: dict[str, Any] = {name.decode(): value.decode() for name, value in fields.items() if name != b"payload"}
        # A payload is bytes, and need not be text.
        entry["payload"] = base64.b64encode(fields[b"payload"]).decode("ascii")
        if "headers" in entry:
            entry["headers"] = json.loads(entry["headers"])
        print(json.dumps(entry))


if __name__ == "__main__":
    main(*sys.argv[1:])
