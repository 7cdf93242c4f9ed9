// Reads a stream of NATS JetStream by an ordered consumer, and prints its messages, a line of JSON each.
//
//     jetstream_consumer.js URL STREAM SUBJECT
//
// Of a header whose name comes more than once this client shows all values.

"use strict";

const { jetstream, jetstreamManager } = require("@nats-io/jetstream");
const { connect } = require("@nats-io/transport-node");

async function main(servers, stream, subject) {
  const client = await connect({ servers });
  const { state } = await (await jetstreamManager(client)).streams.info(stream);
  if (state.messages > 0) {
    const consumer = await jetstream(client).consumers.get(stream, { filter_subjects: subject });
    for await (const message of await consumer.consume()) {
      const { headers } = message;
      const names = headers.keys().filter((name) => name !== "Nats-Msg-Id");
      const read = {
        place: message.subject,
        id: headers.get("Nats-Msg-Id"),
        headers: names.sort().flatMap((name) => headers.values(name).map((value) => [name, value])),
        body: Buffer.from(message.data).toString("base64"),
      };
      console.log(JSON.stringify(read));
      if (message.info.pending === 0) {
        break;
      }
    }
  }
  await client.close();
}

main(...process.argv.slice(2));
