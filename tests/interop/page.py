"""Runs code of a page: `page.py CODE CALLS`. What the code gives to `handle` is printed, a line of JSON for each call.

Consumers run for ever, so they are ended after so many calls; code that makes none ends by itself.
"""

from __future__ import annotations

import json
import sys
from typing import Any


class Enough(BaseException):
    """The last call. No consumer takes it for an error of its handler."""


def main(code: str, calls: str) -> None:
    left = int(calls)
    ids: set[str] = set()

    def first_time(id: str) -> bool:
        assert id, "a message without an id"
        is_new = id not in ids
        ids.add(id)
        return is_new

    def handle(payload: Any, trace: str | None) -> None:
        nonlocal left
        text = payload.decode("utf-8") if isinstance(payload, bytes) else json.dumps(payload)
        print(json.dumps({"payload": text, "trace": trace}))
        left -= 1
        if left == 0:
            raise Enough

    try:
        exec(compile(code, "docs/interop.md", "exec"), {"first_time": first_time, "handle": handle})
    except Enough:
        pass
    assert left == 0, f"{left} calls are missing"


if __name__ == "__main__":
    main(*sys.argv[1:])
