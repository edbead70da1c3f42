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
/** So many files come at once after those. */
const BLOCK = 8;
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
    scrollToFile(`${id}-${at}`, `${id}-from-${at - ((at - eager) % BLOCK)}`);
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
  const place = (one: FileDiff, at: number) => (
    <div id={`${id}-${at}`} class="diff-place" key={at}>
      {file(one, at)}
    </div>
  );
  if (files.length === 0) return <pre class="code-block" tabIndex={0}>{diff}</pre>;
  return (
    <section class="diff stack" aria-label="Changes">
      <div class="row diff-bar">
        <span>{files.length === 1 ? "1 file" : `${files.length} files`}</span>
        <Counts added={sumOf(files, ({ added: lines }) => lines)} removed={sumOf(files, ({ removed: lines }) => lines)} />
        <span class="soft">{marks.filter((_, at) => isSeen(at)).length} seen</span>
        {!isNarrow && <LayoutChoice layout={layout} />}
      </div>
      <DiffFiles files={files} isSeen={isSeen} onShow={show} />
      {onComment !== undefined && <p class="visually-hidden">The number of a line is a button that comments on it. The arrow keys go from one to the next.</p>}
      {files.slice(0, eager).map(place)}
      {starts(eager, files.length).map((from) => {
        const block = files.slice(from, from + BLOCK);
        return (
          <Lazy key={from} id={`${id}-from-${from}`} class="stack" height={sumOf(block, (one, at) => heightOf(one, byBudget.has(from + at)))}>
            {() => block.map((one, at) => place(one, from + at))}
          </Lazy>
        );
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

/** Scrolls to a file; if it is not built yet, to its block first. */
function scrollToFile(file: string, block: string, tries = 30): void {
  requestAnimationFrame(() => {
    const place = document.getElementById(file);
    (place ?? document.getElementById(block))?.scrollIntoView({ block: "start" });
    if (place === null && tries > 0) scrollToFile(file, block, tries - 1);
  });
}

function starts(from: number, to: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / BLOCK) }, (_, at) => from + at * BLOCK);
}

function heightOf(file: FileDiff, isOpen: boolean): number {
  return HEIGHT.head + (isOpen ? HEIGHT.line * lineCount(file) : 0);
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

function sumOf(files: FileDiff[], size: (file: FileDiff, at: number) => number): number {
  return files.reduce((all, file, at) => all + size(file, at), 0);
}
