// Two kinds of tests: of the pure modules, and of the page in a browser (`tests/browser`, which need Chromium and a built server). Beside
// them, the figures of the page, which are measured and not tested.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/**/*.test.ts"], environment: "node" } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          environment: "node",
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      { test: { name: "measure", include: ["measure/**/*.measure.ts"], environment: "node", hookTimeout: 60_000, fileParallelism: false } },
    ],
  },
});
