// The list of the files of a diff, with what happened to each.

import { useState } from "preact/hooks";

import type { FileDiff } from "../fold/diff";
import { Visible } from "./visible";

interface DiffFilesProps {
  files: FileDiff[];
  isSeen: (at: number) => boolean;
  onShow: (at: number) => void;
}

const SHOWN = 30;

export function DiffFiles({ files, isSeen, onShow }: DiffFilesProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? files.slice(0, 200) : files.slice(0, SHOWN);
  return (
    <div class="diff-files">
      <ul role="list" aria-label="Files">
        {shown.map((file, at) => (
          <li key={at}>
            <button type="button" class="diff-file-link" data-seen={isSeen(at)} onClick={() => onShow(at)}>
              <span class="diff-path">
                <Visible text={file.name} />
              </span>
            </button>
            <ChangeMark file={file} />
            <Counts added={file.added} removed={file.removed} />
          </li>
        ))}
      </ul>
      {shown.length < files.length && (
        <p class="soft">
          {files.length - shown.length} more files are below.{" "}
          {!isWhole && (
            <button type="button" class="button" data-kind="quiet" onClick={() => setWhole(true)}>
              List more
            </button>
          )}
        </p>
      )}
    </div>
  );
}

export function ChangeMark({ file }: { file: FileDiff }) {
  const words = { changed: null, new: "new", deleted: "deleted", renamed: "renamed", copied: "copied", mode: "mode" }[file.change];
  const kind = { changed: undefined, new: "good", deleted: "bad", renamed: "accent", copied: "accent", mode: "warn" }[file.change];
  return (
    <>
      {words !== null && (
        <span class="mark" data-kind={kind}>
          {words}
        </span>
      )}
      {file.isBinary && <span class="mark">binary</span>}
    </>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  if (added + removed === 0) return null;
  return (
    <span class="diff-counts">
      <span data-kind="added" aria-label={`${added} added`} role="img">
        +{added}
      </span>{" "}
      <span data-kind="removed" aria-label={`${removed} removed`} role="img">
        −{removed}
      </span>
    </span>
  );
}
