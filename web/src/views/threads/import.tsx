// A thread from a file that was exported, from this store or another one.

import { useState } from "preact/hooks";

import { RequestError } from "../../api/source";
import { Button } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { go } from "../../routing/navigation";
import { importThread } from "./changes";

export interface Importing {
  isBusy: boolean;
  /** The file that was refused, and why. */
  refused: { file: File; error: Error } | null;
  start: (file: File, name?: string) => void;
  close: () => void;
}

export function useImport(): Importing {
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Importing["refused"]>(null);
  const start = (file: File, name?: string): void => {
    setBusy(true);
    setRefused(null);
    importThread(file, name).then(
      (thread) => go({ view: "thread", thread }),
      (error: Error) => (setBusy(false), setRefused({ file, error })),
    );
  };
  return { isBusy, refused, start, close: () => setRefused(null) };
}

/** A button that asks for the file. */
export function ImportButton({ importing: { isBusy, start } }: { importing: Importing }) {
  const choose = (input: HTMLInputElement): void => {
    const [file] = input.files ?? [];
    if (file !== undefined) start(file);
    input.value = "";
  };
  return (
    <label class="button threads-import" aria-busy={isBusy}>
      <span>{isBusy ? "Importing…" : "Import"}</span>
      <input class="visually-hidden" type="file" aria-label="Import" accept=".superstep" disabled={isBusy} onChange={(event) => choose(event.currentTarget)} />
    </label>
  );
}

/** Why a file was refused; for one whose name is taken, a form for another name. */
export function ImportResult({ importing: { refused, start, close } }: { importing: Importing }) {
  if (refused === null) return <div role="status" />;
  const { file, error } = refused;
  const isTaken = error instanceof RequestError && error.status === 409;
  return (
    <div role="status" class="stack">
      {isTaken ? <NameForm about={error.message} onName={(name) => start(file, name)} onClose={close} /> : <ErrorNote error={error} />}
    </div>
  );
}

function NameForm({ about, onName, onClose }: { about: string; onName: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  const send = (event: Event): void => {
    event.preventDefault();
    if (name.trim() !== "") onName(name.trim());
  };
  return (
    <form class="card stack" aria-label="Import under another name" onSubmit={send}>
      <p>{about}</p>
      <label class="field">
        <span class="field-label">Name</span>
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <div class="button-row">
        <Button kind="main" type="submit" disabled={name.trim() === ""}>
          Import under this name
        </Button>
        <Button kind="quiet" onClick={onClose}>
          Dismiss
        </Button>
      </div>
    </form>
  );
}
