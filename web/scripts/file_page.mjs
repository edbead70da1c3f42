// The page of an exported file, without its run: script and style are in it, and its policy lets nothing else in.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

const root = new URL("..", import.meta.url).pathname;

/** Builds the page, and returns it with the places of its title and its run. */
export async function buildFilePage() {
  const folder = mkdtempSync(join(tmpdir(), "superstep-file-"));
  await build({ root, configFile: join(root, "vite.file.config.ts"), logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
  const read = (name) => readFileSync(join(folder, name), "utf8").trim();
  const [script, style] = [read("page.js").replace(/<\/script/gi, "<\\/script"), read("page.css").replace(/<\/style/gi, "<\\/style")];
  rmSync(folder, { recursive: true });
  return document(script, style);
}

function document(script, style) {
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>@@TITLE@@</title>
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
<div id="page"></div>
<script type="application/json" id="recording">@@RECORDING@@</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
