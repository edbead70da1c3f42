// Compresses the built files, so that the server sends them as they are, adds the licences of what is in them, and lists them for it.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { buildFilePage } from "./file_page.mjs";

const folder = new URL("../../server/page/ui/", import.meta.url);
const modules = new URL("../node_modules/", import.meta.url);
const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };

/** Returns the names of the packages that are not only for development. */
function shipped() {
  const all = Object.entries(packages).filter(([path, { dev }]) => path !== "" && !dev);
  return all.map(([path]) => path.replace("node_modules/", "")).sort();
}

function licence(name) {
  const files = readdirSync(new URL(`${name}/`, modules)).filter((file) => /^licen[cs]e/i.test(file)).sort();
  const text = files.map((file) => readFileSync(new URL(`${name}/${file}`, modules), "utf8").trim()).join("\n\n");
  const { version, license } = packages[`node_modules/${name}`];
  return `${name} ${version} (${license})\n\n${text === "" ? "Its package has no text of the licence." : text}\n`;
}

/** Returns the built files as the server includes them. */
function list(names) {
  const files = names.filter((name) => !/\.(br|gz)$/.test(name) && name !== "index.html");
  return `&[\n${files.map((name) => `    file!("${name}"),\n`).join("")}]\n`;
}

writeFileSync(new URL("licences.txt", folder), `This page contains:\n\n${shipped().map(licence).join("\n\n---\n\n")}`);

const names = readdirSync(folder).sort();
writeFileSync(new URL("../files.in", folder), list(names));

for (const name of names) {
  const bytes = readFileSync(new URL(name, folder));
  const packed = { br: brotliCompressSync(bytes, brotli), gz: gzipSync(bytes, { level: 9 }) };
  for (const [ending, content] of Object.entries(packed)) {
    writeFileSync(new URL(`${name}.${ending}`, folder), content);
  }
  console.log(`${name}: ${bytes.length} bytes, ${packed.gz.length} gzip, ${packed.br.length} brotli`);
}

const page = await buildFilePage();
writeFileSync(new URL("../file.html", folder), page);
console.log(`file.html: ${page.length} bytes`);
