// A unified diff: a list of its files with marks for those that were seen, and each file with its changes. Lines can be commented on.

import { useId, useMemo, useRef, useState } from "preact/hooks";

import type { Comment } from "../fold/comments";
import { lineCount, markOf, parseDiff, type FileDiff } from "../fold/diff";
import { chooseLayout, diffLayout, markSeen, seenMarks } from "../live/reading";
import { DiffFile, DiffLines } from "./diff_file";
import { Counts, DiffFiles } from "./diff_files";
import type { LineWork } from "./diff_row";
import { Lazy } from "./lazy";
import { useMedia } from "./media";
import "./diff_view.css";

export type LineComment = Comment;

interface DiffProps {
  diff: string;
  comments?: LineComment[];
  /** Left out where nobody comments. */
  onComment?: (comments: LineComment[]) => void;
}

/** The changes of one text, in one column and without marks. */
export function TextDiff({ diff, label }: { diff: string; label: string }) {
  const [file] = useMemo(() => parseDiff(diff), [diff]);
  return (
    <section class="diff" aria-label={label}>
      {file !== undefined && <DiffLines file={file} layout="one" work={READ_ONLY} />}
    </section>
  );
}

/** Files longer than this are folded at first, and those after so many lines in all. */
const LONG = { wide: { file: 400, all: 800 }, narrow: { file: 60, all: 150 } };
/** So many files and lines are built at once; more come as they are scrolled to. */
const AT_ONCE = { files: 20, lines: 250 };
/** The height of the head of a file, and of a line. */
const HEIGHT = { head: 82, line: 21 };
const NONE: LineComment[] = [];
const READ_ONLY: LineWork = { file: "", isGone: false, comments: new Map(), drafts: new Map(), writing: null, onWrite: () => undefined, all: NONE, onComment: undefined };

export function DiffView({ diff, comments = NONE, onComment }: DiffProps) {
  const id = useId();
  const isNarrow = useMedia("(max-width: 767px)");
  const isWide = useMedia("(min-width: 1200px)");
  const files = useMemo(() => parseDiff(diff), [diff]);
  const marks = useMemo(() => files.map(markOf), [files]);
  const [folds, setFolds] = useState<ReadonlyMap<number, boolean>>(new Map());
  const drafts = useRef(new Map<string, string>());
  const byBudget = useMemo(() => opened(files, isNarrow ? LONG.narrow : LONG.wide), [files, isNarrow]);
  const eager = useMemo(() => builtAtOnce(files, byBudget), [files, byBudget]);
  const layout = isNarrow ? "one" : (diffLayout.value ?? (isWide ? "two" : "one"));
  const isSeen = (at: number): boolean => seenMarks.value.has(marks[at] ?? "");
  const fold = (at: number, isOpen: boolean): void => setFolds(new Map(folds).set(at, isOpen));
  const see = (at: number, seen: boolean): void => {
    markSeen(marks[at] ?? "", seen);
    fold(at, !seen && byBudget.has(at));
  };
  const show = (at: number): void => {
    if (!isSeen(at)) fold(at, true);
    requestAnimationFrame(() => document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "start" }));
  };
  const file = (one: FileDiff, at: number) => (
    <DiffFile
      file={one}
      layout={layout}
      isOpen={folds.get(at) ?? (byBudget.has(at) && !isSeen(at))}
      isSeen={isSeen(at)}
      comments={comments}
      drafts={drafts.current}
      onFold={(isOpen) => fold(at, isOpen)}
      onSeen={(seen) => see(at, seen)}
      onComment={onComment}
    />
  );
  if (files.length === 0) return <pre class="code-block" tabIndex={0}>{diff}</pre>;
  return (
    <section class="diff stack" aria-label="Changes">
      <div class="row diff-bar">
        <span>{files.length === 1 ? "1 file" : `${files.length} files`}</span>
        <Counts added={sum(files, "added")} removed={sum(files, "removed")} />
        <span class="soft">{marks.filter((_, at) => isSeen(at)).length} seen</span>
        {!isNarrow && <LayoutChoice layout={layout} />}
      </div>
      <DiffFiles files={files} isSeen={isSeen} onShow={show} />
      {onComment !== undefined && <p class="visually-hidden">The number of a line is a button that comments on it. The arrow keys go from one to the next.</p>}
      {files.map((one, at) => {
        const shared = { id: `${id}-${at}`, class: "diff-place" };
        const height = HEIGHT.head + (byBudget.has(at) ? HEIGHT.line * lineCount(one) : 0);
        return at < eager ? <div key={at} {...shared}>{file(one, at)}</div> : <Lazy key={at} {...shared} height={height}>{() => file(one, at)}</Lazy>;
      })}
    </section>
  );
}

function LayoutChoice({ layout }: { layout: "one" | "two" }) {
  return (
    <div class="choice">
      <button type="button" aria-pressed={layout === "one"} onClick={() => chooseLayout("one")}>
        One column
      </button>
      <button type="button" aria-pressed={layout === "two"} onClick={() => chooseLayout("two")}>
        Side by side
      </button>
    </div>
  );
}

/** Returns the files that are open at first. */
function opened(files: FileDiff[], { file, all }: { file: number; all: number }): Set<number> {
  let shown = 0;
  const open = new Set<number>();
  files.forEach((one, at) => {
    const lines = lineCount(one);
    if (lines === 0 || lines > file || shown + lines > all) return;
    shown += lines;
    open.add(at);
  });
  return open;
}

/** Returns the number of files that are built before anything is scrolled. */
function builtAtOnce(files: FileDiff[], open: Set<number>): number {
  let lines = 0;
  const end = files.findIndex((file, at) => {
    if (open.has(at)) lines += lineCount(file);
    return at >= AT_ONCE.files || (lines > AT_ONCE.lines && at > 0);
  });
  return end < 0 ? files.length : end;
}

function sum(files: FileDiff[], side: "added" | "removed"): number {
  return files.reduce((all, file) => all + file[side], 0);
}
