"""Reads a stream of NATS JetStream by an ordered consumer, and prints its messages, a line of JSON each.

    jetstream_consumer.py URL STREAM SUBJECT

Of a header whose name comes more than once this client shows the last value.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys

import nats
from nats.js.api import StreamState

#: How long a message that the stream counts may be on its way, in seconds.
PATIENCE = 60


async def read(url: str, stream: str, subject: str) -> None:
    client = await nats.connect(url)
    jetstream = client.jetstream()
    state: StreamState = (await jetstream.stream_info(stream)).state
    if state.messages:
        subscription = await jetstream.subscribe(subject, stream=stream, ordered_consumer=True)
        pending = state.messages
        while pending:
            message = await subscription.next_msg(PATIENCE)
            pending = message.metadata.num_pending
            headers = dict(message.headers or {})
            print(
                json.dumps(
                    {
                        "place": message.subject,
                        "id": headers.pop("Nats-Msg-Id"),
                        "headers": sorted(headers.items()),
                        "body": base64.b64encode(message.data).decode("ascii"),
                    }
                )
            )
    await client.close()


if __name__ == "__main__":
    asyncio.run(read(*sys.argv[1:]))
