// The name under which this browser's answers are recorded. Knows no answer.

import { signal } from "@preact/signals";

const NAME = "superstep-name";

export const myName = signal(read());

export function rememberName(name: string): void {
  myName.value = name;
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // A browser without storage forgets it.
  }
}

function read(): string {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}
