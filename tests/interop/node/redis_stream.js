// Reads a Redis stream from its beginning, and prints its entries, a line of JSON each: `redis_stream.js URL STREAM`.
//
// The content type is told as the first header.

"use strict";

const { createClient, RESP_TYPES } = require("@redis/client");

async function main(url, stream) {
  const client = await createClient({ url }).connect();
  // A payload is bytes, and need not be text.
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  for (const { message: fields } of await bytes.xRange(stream, "-", "+")) {
    const text = (name) => fields[name]?.toString();
    const kind = text("content_type");
    const read = {
      place: text("topic"),
      id: text("id"),
      key: text("key"),
      headers: [...(kind ? [["content-type", kind]] : []), ...JSON.parse(text("headers") ?? "[]")],
      body: fields.payload.toString("base64"),
    };
    console.log(JSON.stringify(read));
  }
  await client.close();
}

main(...process.argv.slice(2));
