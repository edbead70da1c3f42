// What is loaded of a run, and loaded again when it changes: its status, its questions, its checkpoints, the drawing of its graph.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { useResource, type Resource } from "../../api/resource";
import { loadCheckpoints, loadDrawing, loadStatus, loadThreadInbox } from "../../api/run";
import type { CheckpointEntry, RunStatus } from "../../api/run_types";
import { useThreadChanges } from "../../api/thread_changes";
import type { InboxItem } from "../../api/types";
import { isEnough, joinEarlier, joinNewest, pageSize, type Known } from "../../fold/checkpoints";
import { readDrawing, type Topology } from "../../fold/graph";

export interface Run {
  status: Resource<RunStatus>;
  inbox: Resource<InboxItem[]>;
  checkpoints: Checkpoints;
  topology: Topology | undefined;
  reload: () => void;
}

export interface Checkpoints {
  known: Known | null;
  error: Error | undefined;
  /** Loads a page of earlier ones. */
  loadEarlier: () => void;
  isLoadingEarlier: boolean;
  reload: () => void;
}

export function useRun(thread: string): Run {
  const status = useResource(`status ${thread}`, (signal) => loadStatus(thread, signal));
  const inbox = useResource(`questions ${thread}`, (signal) => loadThreadInbox(thread, signal));
  const checkpoints = useCheckpoints(thread);
  const graph = status.value?.graph ?? undefined;
  const drawing = useResource(`drawing ${graph}`, (signal) => (graph === undefined ? Promise.resolve(null) : loadDrawing(graph, signal)));
  const topology = useMemo(() => (drawing.value == null ? undefined : readDrawing(drawing.value)), [JSON.stringify(drawing.value)]);
  const reload = (): void => (status.reload(), inbox.reload(), checkpoints.reload());
  useThreadChanges(thread, reload);
  useLook(status.value?.status === "running" ? (checkpoints.known?.list[0]?.tasks.length ?? 0) : 0, reload);
  return { status, inbox, checkpoints, topology, reload };
}

/** The pause between two looks at parallel tasks, in milliseconds, and what each of them adds. */
const [LOOK, PER_TASK] = [2500, 25];

/** Loads again while tasks run in parallel: one that ends before the others makes no event. */
function useLook(tasks: number, reload: () => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (tasks < 2) return undefined;
    const timer = setInterval(() => latest.current(), LOOK + PER_TASK * tasks);
    return () => clearInterval(timer);
  }, [tasks]);
}

/** Pages that are loaded to meet what is known; a run that is faster is shown from its newest ones only. */
const PAGES = 5;

export function useCheckpoints(thread: string): Checkpoints {
  const store = useRef<{ thread: string; known: Known | null }>({ thread, known: null });
  if (store.current.thread !== thread) store.current = { thread, known: null };
  const [, setCount] = useState(0);
  const [isLoadingEarlier, setLoadingEarlier] = useState(false);
  const newest = useResource(`checkpoints ${thread}`, async (signal) => {
    const here = store.current;
    here.known = await loadNewest(thread, here.known, signal);
    return here.known;
  });
  const isBusy = useRef(false);
  const loadEarlier = (): void => {
    const here = store.current;
    if (isBusy.current || here.known === null || here.known.next === null) return;
    isBusy.current = true;
    setLoadingEarlier(true);
    loadCheckpoints(thread, { before: here.known.next, limit: pageSize(here.known.list.slice(-10)) })
      .then((page) => void (here.known = here.known === null ? null : joinEarlier(here.known, page)), () => undefined)
      .finally(() => {
        isBusy.current = false;
        setLoadingEarlier(false);
        setCount((count) => count + 1);
      });
  };
  useEffect(() => setCount((count) => count + 1), [newest.value]);
  return { known: store.current.known, error: newest.error, loadEarlier, isLoadingEarlier, reload: newest.reload };
}

async function loadNewest(thread: string, known: Known | null, signal: AbortSignal): Promise<Known> {
  let page = await loadCheckpoints(thread, { limit: pageSize([]) }, signal);
  for (let pages = 1; pages < PAGES; pages += 1) {
    const joined = known === null && !isEnough(page) ? null : joinNewest(known, page);
    if (joined !== null) return joined;
    if (page.next === null) break;
    const more = await loadCheckpoints(thread, { before: page.next, limit: pageSize(page.checkpoints) }, signal);
    page = { checkpoints: [...page.checkpoints, ...more.checkpoints], next: more.next };
  }
  return { list: page.checkpoints, next: page.next };
}

/** The checkpoints inside tasks whose subgraphs were opened, by the keys of the tasks. */
export interface Inside {
  lists: ReadonlyMap<string, CheckpointEntry[]>;
  /** Loads the inside of a task: the keys of the tasks on the way down to it, and their nodes. */
  load: (within: string[], path: string[]) => void;
  /** The keys of the tasks on the way down to the inside of one, its own the last. */
  way: (key: string) => string[];
}

export function useInside(thread: string): Inside {
  const [lists, setLists] = useState<ReadonlyMap<string, CheckpointEntry[]>>(new Map());
  const wanted = useRef(new Map<string, { within: string[]; path: string[] }>());
  useEffect(() => (wanted.current.clear(), setLists(new Map())), [thread]);
  const read = async (within: string[], path: string[]): Promise<void> => {
    const key = within.at(-1) ?? "";
    const { checkpoints } = await loadCheckpoints(thread, { within });
    // The path tells tasks of a subgraph from those of the root graph.
    const placed = checkpoints.map((one) => ({ ...one, tasks: one.tasks.map((task) => ({ ...task, path: task.path ?? [...path, task.node] })) })).reverse();
    setLists((was) => new Map(was).set(key, placed));
  };
  useThreadChanges(thread, () => {
    for (const { within, path } of wanted.current.values()) void read(within, path).catch(() => undefined);
  });
  const load = (within: string[], path: string[]): void => {
    wanted.current.set(within.at(-1) ?? "", { within, path });
    void read(within, path).catch(() => undefined);
  };
  return { lists, load, way: (key) => wanted.current.get(key)?.within ?? [key] };
}
