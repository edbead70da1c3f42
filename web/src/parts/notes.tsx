// What a view says of itself: errors with what to do, that it loads, that there is nothing yet. Knows no view.

import type { ComponentChildren } from "preact";

import { RequestError } from "../api/source";
import { advice } from "../fold/advice";
import { Visible } from "./visible";

export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const where = error instanceof RequestError ? `${error.what}${error.status === 0 ? "" : ` (${error.status})`}` : null;
  const todo = adviceOn(error);
  return (
    <div class="note stack" data-kind="bad" role="alert">
      <p><Visible text={error.message} /></p>
      {where !== null && <p class="soft">{where}</p>}
      {todo !== null && <p class="soft">{todo}</p>}
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

function adviceOn(error: Error): string | null {
  if (error instanceof RequestError) return advice(error);
  return "This is a fault of the page. Reload it, and report it with this text if it comes back.";
}
