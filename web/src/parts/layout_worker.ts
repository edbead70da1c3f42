// Lays out large graphs beside the page, so that the page does not stop meanwhile.

import type { Topology } from "../fold/graph";
import { layOut, type Direction } from "../fold/layout";

addEventListener("message", ({ data }: MessageEvent<{ key: string; topology: Topology; direction: Direction }>) => {
  postMessage({ key: data.key, layout: layOut(data.topology, data.direction) });
});
