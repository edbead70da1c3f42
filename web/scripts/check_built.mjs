// Fails unless the committed files are what the sources give, and their compressed forms are they. A compressor of another version may
// give other bytes, so those are unpacked.

import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { build } from "vite";

import { buildFilePage } from "./file_page.mjs";

const committed = new URL("../../server/page/ui/", import.meta.url).pathname;
const fresh = mkdtempSync(join(tmpdir(), "superstep-built-"));
await build({ root: new URL("..", import.meta.url).pathname, logLevel: "error", build: { outDir: fresh } });

const problems = [];
for (const name of readdirSync(fresh)) {
  const bytes = readFileSync(join(fresh, name));
  if (!same(bytes, () => readFileSync(join(committed, name)))) problems.push(name);
}
const unpack = { br: brotliDecompressSync, gz: gunzipSync };
for (const name of readdirSync(committed)) {
  const [, plain, ending] = /^(.*)\.(br|gz)$/.exec(name) ?? [];
  if (plain === undefined) continue;
  if (!same(readFileSync(join(committed, plain)), () => unpack[ending](readFileSync(join(committed, name))))) problems.push(name);
}
rmSync(fresh, { recursive: true });
const listed = readFileSync(join(committed, "../files.in"), "utf8").match(/"[^"]+"/g)?.map((name) => name.slice(1, -1)) ?? [];
const there = readdirSync(committed).filter((name) => !/\.(br|gz)$/.test(name) && name !== "index.html");
if (listed.sort().join() !== there.sort().join()) problems.push("../files.in");
if (!same(Buffer.from(await buildFilePage()), () => readFileSync(join(committed, "../file.html")))) problems.push("../file.html");
if (problems.length > 0) {
  console.error(`server/page/ui is not what web gives (${problems.join(", ")}): run npm run build in web, and commit it`);
  process.exit(1);
}

function same(bytes, read) {
  try {
    return bytes.equals(read());
  } catch {
    return false;
  }
}
