// Light or dark: as the system, unless this browser was told otherwise. Knows no view.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const NAME = "superstep-theme";

export const theme = signal<Theme>(read());

/** Shows the page in the theme, now and whenever it changes. */
export function useTheme(): void {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
  });
}

export function chooseTheme(choice: Theme): void {
  theme.value = choice;
  try {
    localStorage.setItem(NAME, choice);
  } catch {
    // A browser without storage forgets it.
  }
}

function read(): Theme {
  try {
    const stored = localStorage.getItem(NAME);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}
