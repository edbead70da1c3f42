// The events of a stream from the bytes of its body. Knows no request.

export interface ServerEvent {
  event: string;
  data: string;
  id?: string;
}

/** Reads events as they come. The data of one may be in several lines. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event !== null) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Parses the lines of an event; null for a comment. */
export function parseEvent(block: string): ServerEvent | null {
  const event: ServerEvent = { event: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    const [field, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (field === "event") event.event = value;
    else if (field === "data") data.push(value);
    else if (field === "id") event.id = value;
  }
  event.data = data.join("\n");
  return data.length === 0 && event.event === "message" ? null : event;
}
