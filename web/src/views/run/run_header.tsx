// The name of a run, its position, and what can be done with it.

import { useState } from "preact/hooks";

import { cancelRuns, loadExport, proceed } from "../../api/run";
import type { RunStatus } from "../../api/run_types";
import { costOf, tokensOf, tokensText } from "../../fold/journal";
import { graphOf, runActions, runWords } from "../../fold/task";
import { Button, Confirm } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { Ago, Until } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import { isRecording } from "../../api/recording";

interface HeaderProps {
  thread: string;
  status: RunStatus | undefined;
  /** Set if the thread waits for its first run. */
  isUnstarted: boolean;
  onChange: () => void;
}

export function RunHeader({ thread, status, isUnstarted, onChange }: HeaderProps) {
  return (
    <header class="stack run-header">
      <div class="row">
        <h1><Visible text={thread} /></h1>
        {status !== undefined && (
          <span class="mark" data-kind={runWords(status.status).mark}>
            {runWords(status.status).text}
          </span>
        )}
      </div>
      {status !== undefined && <Facts status={status} />}
      {status !== undefined && !isRecording() && <Actions thread={thread} status={status} isUnstarted={isUnstarted} onChange={onChange} />}
    </header>
  );
}

function Facts({ status }: { status: RunStatus }) {
  const [tokens, cost] = [tokensOf(status.tokens), costOf(status.cost)];
  return (
    <p class="row run-facts">
      {status.graph != null && (
        <span>
          <span class="soft">Graph</span> {status.graph}
        </span>
      )}
      {status.step != null && (
        <span>
          <span class="soft">Superstep</span> {status.step}
        </span>
      )}
      {(status.next ?? []).length > 0 && (
        <span>
          <span class="soft">Next</span> {nextText(status.next ?? [])}
        </span>
      )}
      {status.created_at !== undefined && (
        <span>
          <span class="soft">Started</span> <Ago at={status.created_at} />
        </span>
      )}
      {status.updated_at !== undefined && (
        <span>
          <span class="soft">Changed</span> <Ago at={status.updated_at} />
        </span>
      )}
      {status.until != null && (
        <span>
          <span class="soft">Until</span> <Until at={status.until} />
        </span>
      )}
      {cost !== null && (
        <span>
          <span class="soft">Cost</span> {cost}
        </span>
      )}
      {tokens !== null && tokens > 0 && (
        <span>
          <span class="soft">Tokens</span> {tokensText(tokens)}
        </span>
      )}
    </p>
  );
}

function nextText(next: string[]): string {
  const names = [...new Set(next)].filter((name) => name !== "__start__");
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

function Actions({ thread, status, isUnstarted, onChange }: HeaderProps & { status: RunStatus }) {
  const [error, setError] = useState<Error | null>(null);
  const [isAsked, setAsked] = useState(false);
  const run = (action: Promise<unknown>): void => {
    setError(null);
    action.then(onChange, (cause: Error) => setError(cause));
  };
  const resume = (): void => run(proceed(thread, status.graph ?? ""));
  const act = { Cancel: () => setAsked(true), Resume: resume, Retry: resume };
  return (
    <>
      <div class="button-row">
        {runActions(status).map((name) => (
          <Button key={name} kind={name === "Cancel" ? "bad" : "main"} onClick={act[name]}>
            {name}
          </Button>
        ))}
        {isUnstarted && (
          <a class="button" data-kind="main" href={href({ view: "start", graph: graphOf(status), thread })}>
            Start
          </a>
        )}
        {!isUnstarted && status.graph != null && (
          <a class="button" href={href({ view: "start", graph: status.graph, from: thread })}>
            Start again
          </a>
        )}
        <Button onClick={() => run(save(thread))}>Export</Button>
      </div>
      {error !== null && <ErrorNote error={error} />}
      {isAsked && (
        <Confirm title={`Cancel ${thread}?`} onCancel={() => setAsked(false)} onConfirm={() => (setAsked(false), run(cancelRuns(thread)))}>
          What runs now is stopped. What is stored stays, and the run can be resumed later.
        </Confirm>
      )}
    </>
  );
}

/** Saves the file of a thread. A link would not send the key. */
async function save(thread: string): Promise<void> {
  const address = URL.createObjectURL(await loadExport(thread));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${thread.replace(/[^\w.-]+/g, "_")}.superstep`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
