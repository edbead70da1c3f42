import { expect, test } from "vitest";

import { readEvents, type ServerEvent } from "../../src/api/sse";

/** Returns a body that comes in parts of `size` bytes. */
function body(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
}

async function read(text: string, size: number): Promise<ServerEvent[]> {
  const events = [];
  for await (const event of readEvents(body(text, size))) events.push(event);
  return events;
}

const TEXT = ': hello\n\nevent: activity\ndata: {"a": "ü"}\nid: 7\n\nevent: gap\r\ndata: 1\r\ndata: 2\r\n\r\n';

test.each([1, 2, 3, 7, 1000])("events are the same however their bytes come (%i at a time)", async (size) => {
  expect(await read(TEXT, size)).toEqual([
    { event: "activity", data: '{"a": "ü"}', id: "7" },
    { event: "gap", data: "1\n2" },
  ]);
});

test("an event that has not ended is not read", async () => {
  expect(await read("event: a\ndata: 1\n\nevent: b\ndata: 2\n", 5)).toEqual([{ event: "a", data: "1" }]);
});
