// The layout of a graph, made once for each topology: small ones at once, large ones in a worker, so that no task of the page is long. Knows
// no state of nodes.

import { useEffect, useMemo, useState } from "preact/hooks";

import { isRecording } from "../api/recording";
import { topologyKey, type Topology } from "../fold/graph";
import type { Direction, Layout } from "../fold/layout";

/** Nodes and edges that are laid out at once: 20 ms. */
const SMALL = 24;

interface Job {
  topology: Topology;
  direction: Direction;
  resolve: (layout: Layout) => void;
}

const known = new Map<string, Layout>();
const jobs = new Map<string, Job[]>();
let worker: Worker | null | undefined;

/** Returns the layout of a graph; null until it is made. */
export function useLayout(topology: Topology | undefined, direction: Direction | null): Layout | null {
  const key = useMemo(() => (topology === undefined ? "" : `${direction} ${topologyKey(topology)}`), [topology, direction]);
  const [, setCount] = useState(0);
  useEffect(() => {
    if (topology === undefined || direction === null || known.has(key)) return;
    let isWanted = true;
    void make(key, topology, direction).then((layout) => {
      known.set(key, layout);
      if (isWanted) setCount((count) => count + 1);
    });
    return () => void (isWanted = false);
  }, [key]);
  return known.get(key) ?? null;
}

/** What lays out is loaded beside the first answers of the server. */
const loaded = import("../fold/layout");
loaded.catch(() => undefined);

async function make(key: string, topology: Topology, direction: Direction): Promise<Layout> {
  const helper = topology.nodes.length + topology.edges.length <= SMALL ? null : startWorker();
  if (helper === null) return (await loaded).layOut(topology, direction);
  return new Promise((resolve) => {
    jobs.set(key, [...(jobs.get(key) ?? []), { topology, direction, resolve }]);
    helper.postMessage({ key, topology, direction });
  });
}

/** Returns the worker; null where none can be started, as in a file. */
function startWorker(): Worker | null {
  if (worker !== undefined) return worker;
  if (isRecording() || typeof Worker === "undefined") return (worker = null);
  worker = new Worker(new URL("./layout_worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<{ key: string; layout: Layout }>) => finish(data.key, data.layout);
  worker.onerror = () => {
    worker = null;
    for (const [key, [job]] of [...jobs]) if (job !== undefined) void loaded.then(({ layOut }) => finish(key, layOut(job.topology, job.direction)));
  };
  return worker;
}

function finish(key: string, layout: Layout): void {
  for (const { resolve } of jobs.get(key) ?? []) resolve(layout);
  jobs.delete(key);
}
