// How the page is built: files of fixed names, without hashes, since the server answers with ETags.

import { defineConfig } from "vite";

export default defineConfig({
  base: "/ui/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "[name].js" } } },
  // A script finds files beside itself, also where the server is mounted below a prefix.
  experimental: { renderBuiltUrl: (_, { hostType }) => (hostType === "js" ? { relative: true } : undefined) },
  build: {
    outDir: "../server/page/ui",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "page.js",
        // Small parts are no files of their own.
        experimentalMinChunkSize: 4000,
        chunkFileNames: "[name].js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "page.css" : "[name][extname]"),
      },
    },
  },
  server: { proxy: { "^/(?!ui/)": "http://127.0.0.1:2030" } },
});
