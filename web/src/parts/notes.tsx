// What a view says of itself: errors with what to do, that it loads, that there is nothing yet. Knows no view.

import type { ComponentChildren } from "preact";

import { RequestError } from "../api/source";
import { Visible } from "./visible";

export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const where = error instanceof RequestError ? `${error.what}${error.status === 0 ? "" : ` (${error.status})`}` : null;
  return (
    <div class="note stack" data-kind="bad" role="alert">
      <p><Visible text={error.message} /></p>
      {where !== null && <p class="soft">{where}</p>}
      <p class="soft">{advice(error)}</p>
      {onRetry !== undefined && (
        <div>
          <button class="button" type="button" onClick={onRetry}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="soft" role="status">
      Loading {what}…
    </p>
  );
}

export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty stack">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

function advice(error: Error): string {
  if (!(error instanceof RequestError)) return "This is a fault of the page. Reload it, and report it with this text if it comes back.";
  switch (error.status) {
    case 0:
      return "Start the server again with serve; this page then goes on by itself.";
    case 401:
      return "Type in a key under Settings; superstep keys add makes one.";
    case 403:
      return "Use a key whose role allows it, under Settings.";
    case 404:
      return "It may have been deleted. The list of threads shows what is there.";
    case 409:
      return "Somebody was faster. The page shows the present state; look again before you repeat it.";
    default:
      return "Nothing was stored. Correct what the text names, and try again.";
  }
}
