"""Publishes to a queue with BabelQueue, for comparison: `babelqueue_publisher.py URL QUEUE FILE`.

Each line of the file is `{"body": BASE64, "headers": {NAME: VALUE}}`.
"""

from __future__ import annotations

import base64
import json
import sys

from babelqueue.transport import HeaderPublisher, make_transport


def main(url: str, queue: str, path: str) -> None:
    transport = make_transport(url)
    assert isinstance(transport, HeaderPublisher)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            body = base64.b64decode(message["body"]).decode("utf-8")
            transport.publish_with_headers(queue, body, message["headers"])
    transport.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
