// A server in front of the real one: it has the built files of the page, compressed as in the program, and the answers of made threads.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

import { liveEvents, madeAnswer } from "./made";

const FILES = process.env["SUPERSTEP_PAGE_FILES"] ?? new URL("../../server/page/ui/", import.meta.url).pathname;
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES: Record<string, string> = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html; charset=utf-8", txt: "text/plain" };

const packed = new Map<string, Buffer>();
for (const name of readdirSync(FILES)) {
  if (/\.(br|gz)$/.test(name)) continue;
  const ready = join(FILES, `${name}.br`);
  packed.set(name, existsSync(ready) ? readFileSync(ready) : brotliCompressSync(readFileSync(join(FILES, name)), { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
}

/** Events of all threads that are sent to whoever reads the activity, at once. */
export const burst = { count: 0 };

export interface Proxy {
  address: string;
  server: Server;
}

export function startProxy(target: string): Promise<Proxy> {
  const server = createServer((from, to) => void answer(target, from, to));
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({ server, address: `http://127.0.0.1:${(server.address() as { port: number }).port}` })));
}

async function answer(target: string, from: IncomingMessage, to: ServerResponse): Promise<void> {
  const path = from.url ?? "/";
  if (path.startsWith("/ui/")) return file(path.slice(4).split("?")[0] ?? "", to);
  const [, live] = /^\/threads\/(made-[^/]+)\/stream\/events$/.exec(path) ?? [];
  if (live !== undefined) return stream(to, liveEvents(live, 100_000));
  if (path === "/events" && burst.count > 0) return stream(to, activity(burst.count));
  const parts: Buffer[] = [];
  for await (const part of from) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const made = madeAnswer(from.method ?? "GET", path, body.toString());
  if (made !== undefined) return void to.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(made));
  const { host: _, ...headers } = from.headers;
  const passed = request(target + path, { method: from.method ?? "GET", headers: { ...headers, host: new URL(target).host, origin: target } }, (found) => {
    to.writeHead(found.statusCode ?? 500, found.headers);
    found.pipe(to);
  });
  to.on("close", () => passed.destroy());
  passed.on("error", () => to.destroy());
  passed.end(body);
}

function file(name: string, to: ServerResponse): void {
  const found = packed.has(name) ? name : "index.html";
  const type = TYPES[found.split(".").at(-1) ?? ""] ?? "application/octet-stream";
  to.writeHead(200, { "content-type": type, "content-encoding": "br", "content-security-policy": POLICY, "cache-control": "no-cache", "content-length": packed.get(found)?.length ?? 0 });
  to.end(packed.get(found));
}

async function stream(to: ServerResponse, events: Generator<string>): Promise<void> {
  to.writeHead(200, { "content-type": "text/event-stream" });
  let chunk = "";
  for (const event of events) {
    chunk += event;
    if (chunk.length < 60_000) continue;
    if (!to.write(chunk)) await new Promise((resolve) => to.once("drain", resolve));
    chunk = "";
  }
  to.write(chunk);
}

function* activity(count: number): Generator<string> {
  for (let seq = 1; seq <= count; seq += 1) yield `event: activity\nid: ${seq}\ndata: ${JSON.stringify({ seq, at: new Date().toISOString(), thread: `order-${seq % 5000}`, graph: "counter", kind: seq % 9 === 0 ? "question" : "position" })}\n\n`;
}
