// The comments on a line of a diff, and the box in which another is written.

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { lineKey, writingPlace, type Comment } from "../fold/comments";
import { Button } from "./button";
import type { LineWork } from "./diff_row";

interface Place {
  side: "new" | "old";
  line: number;
}

export function LineThread({ place, work }: { place: Place; work: LineWork }) {
  const key = lineKey(place);
  const comments = work.comments.get(key) ?? [];
  const isWriting = work.writing?.line === key;
  const { onComment } = work;
  if (onComment === undefined || (comments.length === 0 && !isWriting)) return null;
  const remove = (gone: Comment): void => onComment(work.all.filter((comment) => comment !== gone));
  return (
    <div class="diff-thread stack">
      {comments.map((comment) => (
        <div class="diff-comment" key={comment.text}>
          <p>
            <span class="soft">
              Line {place.line}
              {place.side === "old" ? ", removed" : ""}:
            </span>{" "}
            {comment.text}
          </p>
          <Button kind="quiet" aria-label={`Remove comment on ${work.file} line ${place.line}`} onClick={() => remove(comment)}>
            Remove
          </Button>
        </div>
      ))}
      {isWriting && <CommentBox place={place} work={work} onComment={onComment} />}
    </div>
  );
}

function CommentBox({ place, work, onComment }: { place: Place; work: LineWork; onComment: (comments: Comment[]) => void }) {
  const id = useId();
  const draft = writingPlace(work.file, lineKey(place));
  const [text, setText] = useState(work.drafts.all.get(draft) ?? "");
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (work.writing?.isRestored !== true) box.current?.focus({ preventScroll: true });
  }, []);
  const type = (words: string): void => {
    work.drafts.write(draft, words);
    setText(words);
  };
  const leave = (): void => {
    const place = box.current?.closest(".diff-thread")?.previousElementSibling?.querySelector<HTMLElement>("button.diff-number");
    work.onWrite(null);
    place?.focus();
  };
  const add = (): void => {
    if (text.trim() === "") return box.current?.focus();
    work.drafts.write(draft, "");
    onComment([...work.all, { file: work.file, ...place, text: text.trim() }]);
    leave();
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) add();
    else return;
    event.preventDefault();
  };
  return (
    <div class="field">
      <label class="field-label" for={id}>
        Comment
      </label>
      <textarea id={id} ref={box} rows={2} value={text} aria-description={`on line ${place.line} of ${work.file}`} onInput={(event) => type(event.currentTarget.value)} onKeyDown={keys} />
      <div class="button-row">
        <Button onClick={add}>Add</Button>
        <Button kind="quiet" onClick={() => (work.drafts.write(draft, ""), leave())}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
