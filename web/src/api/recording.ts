// The answers that an exported file has in it: a page without a server. Knows no route and no view.

/** A run in a file: the answers of a server, by method and path. */
export interface Recording {
  thread: string;
  exported_at: string;
  answers: Record<string, unknown>;
}

let recording: Recording | null | undefined;

/** Returns the run in the file, or null on a server. */
export function readRecording(): Recording | null {
  recording ??= parse(document.getElementById("recording")?.textContent ?? null);
  return recording;
}

/** Returns whether the page is a file with a run in it. */
export function isRecording(): boolean {
  return readRecording() !== null;
}

function parse(text: string | null): Recording | null {
  return text === null ? null : (JSON.parse(text) as Recording);
}
