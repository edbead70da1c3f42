// One row of a diff, with the comments on its lines. The number of a line is the button that comments on it.

import { useMemo } from "preact/hooks";

import { lineKey, type Comment, type Writing } from "../fold/comments";
import type { DiffLine } from "../fold/diff";
import { wordParts, type Row, type WordPart } from "../fold/diff_rows";
import { LineThread } from "./diff_thread";
import { Visible } from "./visible";

/** What the rows of a file share. */
export interface LineWork {
  file: string;
  /** Set for a file that was deleted: the numbers of its old lines are those of the file. */
  isGone: boolean;
  /** By side and line. */
  comments: Map<string, Comment[]>;
  drafts: Writing;
  /** The line on which a comment is being written. */
  writing: { line: string; isRestored: boolean } | null;
  onWrite: (line: string | null) => void;
  all: Comment[];
  onComment: ((comments: Comment[]) => void) | undefined;
}

/** Of a longer line, only the start is shown. */
const LENGTH = 2000;

export function DiffRow({ row, isFirst, work }: { row: Row; isFirst: boolean; work: LineWork }) {
  if (row.kind === "hunk") return <div class="diff-hunk">{row.text === "" ? "⋯" : row.text}</div>;
  const lines = row.kind === "line" ? [row.line] : [row.left, row.right];
  const places = lines.flatMap((line, at) => (line === null || (at === 0 && lines.length > 1 && line.kind === "same") ? [] : [line]));
  return (
    <>
      {row.kind === "line" ? <OneColumn line={row.line} mate={row.mate} isFirst={isFirst} work={work} /> : <SideBySide left={row.left} right={row.right} isFirst={isFirst} work={work} />}
      {places.map((line) => (
        <LineThread key={lineKey(placeOf(line))} place={placeOf(line)} work={work} />
      ))}
    </>
  );
}

function OneColumn({ line, mate, isFirst, work }: { line: DiffLine; mate: DiffLine | null; isFirst: boolean; work: LineWork }) {
  const parts = useParts(line, mate);
  return (
    <div class="diff-row" data-kind={line.kind}>
      {line.kind === "removed" ? <LineNumber line={line} isFirst={isFirst} work={work} /> : <span class="diff-number">{line.old}</span>}
      {line.kind === "removed" ? <span class="diff-number" /> : <LineNumber line={line} isFirst={isFirst} work={work} />}
      <Code line={line} parts={parts} />
    </div>
  );
}

function SideBySide({ left, right, isFirst, work }: { left: DiffLine | null; right: DiffLine | null; isFirst: boolean; work: LineWork }) {
  const parts = useMemo(() => (left?.kind === "removed" && right?.kind === "added" ? wordParts(left.text, right.text) : null), [left, right]);
  return (
    <div class="diff-row">
      {left?.kind === "removed" ? <LineNumber line={left} isFirst={isFirst && right === null} work={work} /> : <span class="diff-number">{left?.old}</span>}
      {left === null ? <span class="diff-code" data-kind="none" /> : <Code line={left} parts={parts?.old ?? null} />}
      {right === null ? <span class="diff-number" /> : <LineNumber line={right} isFirst={isFirst} work={work} />}
      {right === null ? <span class="diff-code" data-kind="none" /> : <Code line={right} parts={parts?.now ?? null} />}
    </div>
  );
}

function LineNumber({ line, isFirst, work }: { line: DiffLine; isFirst: boolean; work: LineWork }) {
  const place = placeOf(line);
  if (work.onComment === undefined) return <span class="diff-number">{place.line}</span>;
  const isOwn = place.side === "new" || work.isGone;
  return (
    <button type="button" class="diff-number" data-kind={line.kind} tabIndex={isFirst ? 0 : -1} aria-label={`Comment on ${work.file} ${isOwn ? "" : "removed "}line ${place.line}`} onClick={() => work.onWrite(lineKey(place))}>
      {place.line}
    </button>
  );
}

function Code({ line: { kind, text }, parts }: { line: DiffLine; parts: WordPart[] | null }) {
  if (parts !== null) {
    return (
      <span class="diff-code" data-kind={kind}>
        {parts.map((part) => (part.isChanged ? <mark><Visible text={part.text} /></mark> : <Visible text={part.text} />))}
      </span>
    );
  }
  return (
    <span class="diff-code" data-kind={kind}>
      <Visible text={text.slice(0, LENGTH)} />
      {text.length > LENGTH && <i class="soft"> … {(text.length - LENGTH).toLocaleString("en")} characters more</i>}
    </span>
  );
}

function useParts(line: DiffLine, mate: DiffLine | null): WordPart[] | null {
  return useMemo(() => {
    if (mate === null) return null;
    return line.kind === "removed" ? (wordParts(line.text, mate.text)?.old ?? null) : (wordParts(mate.text, line.text)?.now ?? null);
  }, [line, mate]);
}

function placeOf(line: DiffLine): { side: "new" | "old"; line: number } {
  return line.new === null ? { side: "old", line: line.old ?? 0 } : { side: "new", line: line.new };
}
