// Compresses the built files, so that the server sends them as they are.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = new URL("../../server/page/ui/", import.meta.url);
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };

for (const name of readdirSync(folder).sort()) {
  const bytes = readFileSync(new URL(name, folder));
  const packed = { br: brotliCompressSync(bytes, brotli), gz: gzipSync(bytes, { level: 9 }) };
  for (const [ending, content] of Object.entries(packed)) {
    writeFileSync(new URL(`${name}.${ending}`, folder), content);
  }
  console.log(`${name}: ${bytes.length} bytes, ${packed.gz.length} gzip, ${packed.br.length} brotli`);
}
