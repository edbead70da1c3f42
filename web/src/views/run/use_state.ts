// The state at a checkpoint as a tree: a level is loaded when it is opened, and what changed against the checkpoint before is marked.

import { useMemo, useRef, useState } from "preact/hooks";

import { useResource } from "../../api/resource";
import { loadDiff, loadLevel } from "../../api/run";
import type { ValueLevel } from "../../api/run_types";
import { joinLevel, NO_CHANGES, readChanges, treeRows, type Changes, type TreeRow } from "../../fold/state_tree";

export interface StateTree {
  rows: TreeRow[];
  size: number | null;
  error: Error | undefined;
  isLoading: boolean;
  toggle: (row: TreeRow) => void;
}

interface Loaded {
  checkpoint: number;
  levels: Map<string, ValueLevel>;
  changes: Changes;
}

/** A slider that moves is not followed by a request for each position. */
const PAUSE = 80;

export function useStateTree(thread: string, checkpoint: number, parent: number | null): StateTree {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [count, setCount] = useState(0);
  const openNow = useRef(open);
  openNow.current = open;
  const last = useRef<Loaded | null>(null);
  const resource = useResource(`state ${thread} ${checkpoint}`, async (signal): Promise<Loaded> => {
    if (last.current !== null) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    if (signal.aborted) throw new DOMException("", "AbortError");
    const paths = ["", ...openNow.current];
    const read = paths.map((path) => loadLevel(thread, checkpoint, path, undefined, signal).catch((cause: unknown) => (path === "" ? Promise.reject(cause) : null)));
    const diff = parent === null ? null : loadDiff(thread, parent, checkpoint, signal).catch(() => null);
    const [found, changed] = [await Promise.all(read), await diff];
    const levels = new Map(found.flatMap((level, at) => (level === null ? [] : [[paths[at] ?? "", level] as const])));
    return { checkpoint, levels, changes: changed === null ? NO_CHANGES : readChanges(changed.channels) };
  });
  if (resource.value !== undefined) last.current = resource.value;
  const shown = last.current;
  const rows = useMemo(() => (shown === null ? [] : treeRows(shown.levels, open, shown.changes)), [shown, open, count]);

  const add = (path: string, after?: number): void => {
    if (shown === null) return;
    void loadLevel(thread, shown.checkpoint, path, after).then((level) => {
      shown.levels.set(path, after === undefined ? level : joinLevel(shown.levels.get(path), level));
      setCount((now) => now + 1);
    }, () => undefined);
  };
  const toggle = (row: TreeRow): void => {
    if (row.more !== null) return add(row.more.parent, row.more.after);
    if (row.isOpen) return setOpen((was) => new Set([...was].filter((path) => path !== row.path)));
    setOpen((was) => new Set(was).add(row.path));
    if (shown?.levels.has(row.path) !== true) add(row.path);
  };
  return { rows, size: shown?.levels.get("")?.size ?? null, error: resource.error, isLoading: shown?.checkpoint !== checkpoint, toggle };
}
