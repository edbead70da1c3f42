// Something that waits for a person without being a question: what, why, and what to do.

import { useState } from "preact/hooks";

import { proceed } from "../../api/run";
import { isRecording } from "../../api/recording";
import { request } from "../../api/source";
import type { InboxItem } from "../../api/types";
import { kindTexts } from "../../fold/inbox";
import { Button, Confirm } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";

export function NoticeCard({ item, onDone }: { item: InboxItem; onDone: () => void }) {
  if (item.kind === "question") return null;
  const { title, mark } = kindTexts(item.kind);
  return (
    <div class="question stack" role="group" aria-label={title}>
      <header class="row">
        <span class="mark" data-kind={mark}>
          {item.kind.replace("-", " ")}
        </span>
        <h3>{title}</h3>
        <span class="soft">
          <Ago at={item.since} />
        </span>
      </header>
      {item.reason != null && <pre class="code-block" tabIndex={0}><Visible text={item.reason} /></pre>}
      {item.help != null && <p class="soft">{item.help}</p>}
      {!isRecording() && <NoticeAction item={item} onDone={onDone} />}
    </div>
  );
}

/** What can be done about it here. The rest is done on the command line, as its help says. */
function NoticeAction({ item: { kind, thread, graph, retry }, onDone }: { item: InboxItem; onDone: () => void }) {
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const act = (action: Promise<unknown>): void => {
    setAsked(false);
    setError(null);
    action.then(onDone, (cause: Error) => setError(cause));
  };
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      {(kind === "failed" || kind === "stalled") && retry !== false && (
        <div class="button-row">
          <Button kind="main" onClick={() => act(proceed(thread, graph))}>
            {kind === "failed" ? "Retry" : "Resume"}
          </Button>
        </div>
      )}
      {kind === "untrusted" && (
        <div class="button-row">
          <Button kind="main" onClick={() => setAsked(true)}>
            Trust
          </Button>
        </div>
      )}
      {isAsked && (
        <Confirm title={`Trust ${thread}?`} onCancel={() => setAsked(false)} onConfirm={() => act(request(`/threads/${encodeURIComponent(thread)}/trust`, { method: "POST", body: {} }))}>
          Its plans and commands were made on another machine. Once it is trusted, they run here with the rights of this server.
        </Confirm>
      )}
    </>
  );
}
