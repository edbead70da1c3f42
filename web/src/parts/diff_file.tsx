// One file of a diff: what happened to it, whether it was seen, and its lines, which are built as they are scrolled to.

import { useMemo, useState } from "preact/hooks";

import { byLine, writtenLine, type Comment, type Writing } from "../fold/comments";
import { lineCount, type FileDiff } from "../fold/diff";
import { rowsOf, type Layout, type Row } from "../fold/diff_rows";
import { ChangeMark, Counts } from "./diff_files";
import { DiffRow, type LineWork } from "./diff_row";
import { Lazy } from "./lazy";
import { Visible } from "./visible";

interface DiffFileProps {
  file: FileDiff;
  layout: Layout;
  isOpen: boolean;
  isSeen: boolean;
  comments: Comment[];
  drafts: Writing;
  onFold: (isOpen: boolean) => void;
  onSeen: (isSeen: boolean) => void;
  onComment: ((comments: Comment[]) => void) | undefined;
}

/** The box of a comment that was being written when the page was left; it does not take the focus. */
function restored(line: string | null): LineWork["writing"] {
  return line === null ? null : { line, isRestored: true };
}

/** Rows that are built at once; the height of one. */
const CHUNK = 40;
const BLOCK = 1000;
const HEIGHT = 21;

export function DiffFile({ file, layout, isOpen, isSeen, comments, drafts, onFold, onSeen, onComment }: DiffFileProps) {
  const [writing, setWriting] = useState<LineWork["writing"]>(() => restored(writtenLine(drafts, file.name)));
  const own = useMemo(() => byLine(comments, file.name), [comments, file.name]);
  const work = useMemo(
    (): LineWork => ({ file: file.name, isGone: file.change === "deleted", comments: own, drafts, writing, onWrite: (line) => setWriting(line === null ? null : { line, isRestored: false }), all: comments, onComment }),
    [file, own, drafts, writing, comments, onComment],
  );
  const lines = lineCount(file);
  return (
    <div class="diff-file">
      <div class="diff-head">
        <button type="button" class="diff-fold" aria-expanded={isOpen} disabled={lines === 0} onClick={() => onFold(!isOpen)}>
          <span class="diff-arrow" aria-hidden="true" />
          <span class="diff-path">
            {file.oldName !== null && (
              <>
                <Visible text={file.oldName} /> →{" "}
              </>
            )}
            <Visible text={file.name} />
          </span>
        </button>
        <ChangeMark file={file} />
        {file.modes !== null && <span class="soft">{file.modes}</span>}
        <Counts added={file.added} removed={file.removed} />
        <label class="diff-seen">
          <input type="checkbox" aria-label={`Seen ${file.name}`} checked={isSeen} onChange={(event) => onSeen(event.currentTarget.checked)} />
          Seen
        </label>
      </div>
      {isOpen && (
        <DiffLines file={file} layout={layout} work={work} />
      )}
      {!isOpen && !isSeen && lines > 0 && (
        <button type="button" class="diff-more" onClick={() => onFold(true)}>
          Show {lines.toLocaleString("en")} lines
        </button>
      )}
      {lines === 0 && !isSeen && <p class="diff-none soft">{file.isBinary ? "A binary file: its content is not shown." : "Its content is unchanged."}</p>}
    </div>
  );
}

/** The lines of a file. */
export function DiffLines({ file, layout, work }: { file: FileDiff; layout: Layout; work: LineWork }) {
  const rows = useMemo(() => rowsOf(file, layout), [file, layout]);
  const shown = useMemo(() => <Rows rows={rows} from={0} to={rows.length} work={work} />, [rows, work]);
  return (
    <div class="diff-lines" data-layout={layout} onKeyDown={step}>
      {shown}
    </div>
  );
}

function Rows({ rows, from, to, work }: { rows: Row[]; from: number; to: number; work: LineWork }) {
  const count = to - from;
  const step = count > BLOCK ? BLOCK : CHUNK;
  if (count <= CHUNK || (from === 0 && count <= 3 * CHUNK)) {
    return (
      <>
        {rows.slice(from, to).map((row, at) => (
          <DiffRow key={from + at} row={row} isFirst={from + at === 0 || rows[from + at - 1]?.kind === "hunk"} work={work} />
        ))}
      </>
    );
  }
  const starts = Array.from({ length: Math.ceil(count / step) }, (_, at) => from + at * step);
  return (
    <>
      {starts.map((start) => {
        const end = Math.min(start + step, to);
        return (
          <Lazy key={start} height={(end - start) * HEIGHT}>
            {() => <Rows rows={rows} from={start} to={end} work={work} />}
          </Lazy>
        );
      })}
    </>
  );
}

/** Goes with the arrow keys from the button of one line to the next. */
function step(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = event.target as HTMLElement;
  if (way === undefined || !from.matches(".diff-number")) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button.diff-number")];
  const next = all[all.indexOf(from) + way];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
