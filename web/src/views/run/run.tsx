// A run: what waits in it, its graph, its tasks on an axis of time, its checkpoints and the state at each.

import { useEffect, useMemo, useState } from "preact/hooks";

import type { Divergence } from "../../api/debug_types";
import { isRecording } from "../../api/recording";
import type { CheckpointEntry, RunStatus } from "../../api/run_types";
import { branchesOf, lineOf } from "../../fold/checkpoints";
import { nextNodes, nodeStates, type Position } from "../../fold/graph";
import { Empty, ErrorNote, Loading } from "../../parts/notes";
import { Tools } from "../debug/tools";
import { WorkPanel } from "../work/work_panel";
import { GraphPanel } from "./graph_panel";
import { RunHeader } from "./run_header";
import { RunNotes, RunQuestions } from "./run_notes";
import { Scrubber } from "./scrubber";
import { StatePanel } from "./state_panel";
import { TimelinePanel } from "./timeline_panel";
import { useIsUnstarted } from "./use_is_unstarted";
import { useInside, useRun, type Inside, type Run } from "./use_run";
import "./run.css";

export function RunView({ thread, checkpoint }: { thread: string; checkpoint?: string | undefined }) {
  const run = useRun(thread);
  const inside = useInside(thread);
  const { status, inbox, checkpoints } = run;
  const error = status.error ?? checkpoints.error;
  const isUnstarted = useIsUnstarted(thread, checkpoints.known);
  return (
    <div class="run stack">
      <RunHeader thread={thread} status={status.value} isUnstarted={isUnstarted === true} onChange={run.reload} />
      {error !== undefined && <ErrorNote error={error} onRetry={run.reload} />}
      {status.value === undefined && error === undefined && <Loading what="the run" />}
      {status.value !== undefined && <RunNotes status={status.value} />}
      {inbox.value !== undefined && <RunQuestions items={inbox.value} onAnswered={run.reload} />}
      {checkpoints.known?.list.length === 0 && (
        <Empty title="Nothing has run yet">
          {isUnstarted === true && <p>This thread has no run. “Start” leads to the form of its input.</p>}
          {isUnstarted === false && <p>The run is in the queue. Its graph, its tasks and its state come here as soon as it starts.</p>}
        </Empty>
      )}
      {checkpoints.known !== null && checkpoints.known.list.length > 0 && (
        <Past thread={thread} run={run} list={checkpoints.known.list} hasEarlier={checkpoints.known.next !== null} chosen={checkpoint === undefined ? null : Number(checkpoint)} inside={inside} status={status.value} />
      )}
    </div>
  );
}

interface PastProps {
  thread: string;
  run: Run;
  list: CheckpointEntry[];
  hasEarlier: boolean;
  /** The checkpoint that the address names. */
  chosen: number | null;
  inside: Inside;
  status: RunStatus | undefined;
}

function Past({ thread, run, list, hasEarlier, chosen, inside, status }: PastProps) {
  const { checkpoints, topology } = run;
  const line = useMemo(() => lineOf(list, chosen ?? undefined), [list, chosen]);
  const branches = useMemo(() => branchesOf(list, line), [list, line]);
  const found = chosen === null ? line.length - 1 : line.findIndex(({ checkpoint }) => checkpoint === chosen);
  const isMissing = found < 0;
  const at = isMissing ? line.length - 1 : found;
  useEffect(() => {
    if (isMissing && hasEarlier) checkpoints.loadEarlier();
  }, [isMissing, list]);
  const isRunning = status?.status === "running";
  const position: Position = useMemo(() => ({ line: line.slice(0, at + 1), isNewest: line[at]?.checkpoint === list[0]?.checkpoint, isRunning, running: status?.running ?? [] }), [line, at, isRunning, status?.running]);
  const lists = inside.lists;
  const states = useMemo(() => nodeStates(position, insideOf(position, lists)), [position, lists]);
  const shown = line[at];
  const [divergence, setDivergence] = useState<Divergence | null>(null);
  return (
    <>
      {shown !== undefined && <WorkPanel thread={thread} position={position} questions={run.inbox.value} hasEarlier={hasEarlier} />}
      {topology !== undefined && topology.nodes.length > 0 && <GraphPanel thread={thread} topology={topology} states={states} next={nextNodes(position)} line={line} inside={inside} divergence={divergence} />}
      <TimelinePanel thread={thread} line={line} selected={chosen === null ? null : (shown?.checkpoint ?? null)} inside={inside} isRunning={isRunning} hasEarlier={hasEarlier} divergence={divergence} />
      {isMissing && (
        <p class="note" data-kind="warn" role="status">
          {hasEarlier ? `Looking for checkpoint ${chosen}…` : `There is no checkpoint ${chosen}: it may have been removed. The newest one is shown.`}
        </p>
      )}
      <Scrubber thread={thread} line={line} branches={branches} at={at} isChosen={chosen !== null} hasEarlier={hasEarlier} onEarlier={checkpoints.loadEarlier} />
      {shown !== undefined && !isRecording() && <Tools thread={thread} graph={status?.graph ?? undefined} list={list} shown={shown} onDiverge={setDivergence} />}
      {shown !== undefined && <StatePanel thread={thread} checkpoint={shown.checkpoint} parent={shown.parent} />}
    </>
  );
}

/** The checkpoints inside tasks that were opened, as far as they come before what is shown. */
function insideOf({ line, isNewest }: Position, lists: Inside["lists"]): CheckpointEntry[] {
  const ran = new Set((isNewest ? line : line.slice(0, -1)).map(({ checkpoint }) => checkpoint));
  const last = line.at(-1)?.checkpoint ?? 0;
  return [...lists].flatMap(([key, list]) => (ran.has(Number(key.split(":")[0])) || (isNewest && Number(key.split(":")[0]) > last) ? list : []));
}
