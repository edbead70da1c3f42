// How the page of an exported file is built: one script and one style, which the file has in it.

import { defineConfig } from "vite";

import page from "./vite.config";

export default defineConfig({
  ...page,
  build: {
    ...page.build,
    outDir: "../target/page-file",
    copyPublicDir: false,
    rollupOptions: {
      input: "src/main.tsx",
      output: {
        inlineDynamicImports: true,
        entryFileNames: "page.js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "page.css" : "[name][extname]"),
      },
    },
  },
});
