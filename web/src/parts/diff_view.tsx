// A unified diff: a list of its files with marks for those that were seen, and each file with its changes. Lines can be commented on.

import { useEffect, useId, useMemo, useState } from "preact/hooks";

import { NO_WRITING, writtenLine, type Comment, type Writing } from "../fold/comments";
import { markOf, parseDiff, type FileDiff } from "../fold/diff";
import { BLOCK, builtAtOnce, heightOf, LONG, opened, starts, sumOf } from "../fold/diff_folds";
import { chooseLayout, diffLayout, markSeen, seenMarks } from "../live/reading";
import { DiffFile, DiffLines } from "./diff_file";
import { Counts, DiffFiles } from "./diff_files";
import type { LineWork } from "./diff_row";
import { useKeys, type KeyAction } from "./keys";
import { Lazy } from "./lazy";
import { useMedia } from "./media";
import { Loading } from "./notes";
import "./diff_view.css";

export type LineComment = Comment;

interface DiffProps {
  diff: string;
  comments?: LineComment[];
  writing?: Writing | undefined;
  /** Left out where nobody comments. */
  onComment?: ((comments: LineComment[]) => void) | undefined;
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

/** A diff with more characters is read after the page is shown. */
const LARGE = 200_000;
const NONE: LineComment[] = [];
const READ_ONLY: LineWork = { file: "", isGone: false, comments: new Map(), drafts: NO_WRITING, writing: null, onWrite: () => undefined, all: NONE, onComment: undefined };

/** For the list of keys; the lines handle them while one of them has the focus. */
const KEYS: KeyAction[] = [
  { key: "ArrowUp ArrowDown", about: "in a diff: to the next line" },
  { key: "Enter", about: "in a diff: comment on the line" },
  { key: "Ctrl+Enter", about: "in a comment: add it" },
  { key: "Escape", about: "in a comment: leave it" },
];
const NO_KEYS: KeyAction[] = [];

export function DiffView({ diff, comments = NONE, writing = NO_WRITING, onComment }: DiffProps) {
  useKeys(onComment === undefined ? NO_KEYS : KEYS);
  const read = useFiles(diff);
  if (read === null) return <Loading what="the changes" />;
  if (read.files.length === 0) return <pre class="code-block" tabIndex={0}>{diff.slice(0, LARGE)}</pre>;
  return <Files read={read} comments={comments} writing={writing} onComment={onComment} />;
}

interface ReadFiles {
  files: FileDiff[];
  /** By which the files are known again. */
  marks: string[];
}

interface FilesProps {
  read: ReadFiles;
  comments: LineComment[];
  writing: Writing;
  onComment: ((comments: LineComment[]) => void) | undefined;
}

function Files({ read: { files, marks }, comments, writing, onComment }: FilesProps) {
  const id = useId();
  const isNarrow = useMedia("(max-width: 767px)");
  const isWide = useMedia("(min-width: 1200px)");
  const [folds, setFolds] = useState<ReadonlyMap<number, boolean>>(new Map());
  // What was commented on before the page was left is in sight.
  const commented = useMemo(() => new Set(files.filter(({ name }) => comments.some(({ file }) => file === name) || writtenLine(writing, name) !== null)), [files]);
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
      isOpen={folds.get(at) ?? ((byBudget.has(at) && !isSeen(at)) || commented.has(one))}
      isSeen={isSeen(at)}
      comments={comments}
      drafts={writing}
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

/** Reads a diff; one that is large a moment later, so that the page is shown before. */
function useFiles(diff: string): ReadFiles | null {
  const small = useMemo(() => (diff.length <= LARGE ? readFiles(diff) : null), [diff]);
  const [late, setLate] = useState<{ diff: string; read: ReadFiles } | null>(null);
  useEffect(() => {
    if (diff.length <= LARGE) return undefined;
    const timer = setTimeout(() => setLate({ diff, read: readFiles(diff) }), 30);
    return () => clearTimeout(timer);
  }, [diff]);
  return small ?? (late?.diff === diff ? late.read : null);
}

function readFiles(diff: string): ReadFiles {
  const files = parseDiff(diff);
  return { files, marks: files.map(markOf) };
}

/** Scrolls to a file; if it is not built yet, to its block first. */
function scrollToFile(file: string, block: string, tries = 30): void {
  requestAnimationFrame(() => {
    const place = document.getElementById(file);
    (place ?? document.getElementById(block))?.scrollIntoView({ block: "start" });
    if (place === null && tries > 0) scrollToFile(file, block, tries - 1);
  });
}
