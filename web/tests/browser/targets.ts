// How large the things are that a thumb has to hit.

import type { Page } from "playwright-core";

interface Sizes {
  /** The least height and width of a target, in pixels. */
  least: number;
  /** The least height of the lines of a text. */
  line: number;
}

/** The sizes on a phone: that of the page, and the least one of WCAG 2.2, 2.5.8. */
const SIZES: Sizes = { least: 40, line: 24 };

/**
 * Returns the targets of a view that are too small, as `button "Zoom in" 30×30 (.graph-tools)`.
 *
 * The rule: what acts is 40 px high and 40 px wide, where a part of the page that acts for it counts as its own: the label of a check box, and
 * the row or card that a link covers. Four things are measured otherwise. A link in a sentence is as high as its line. The lines of a diff are
 * a text, which nobody could read if they were 40 px high: the number of a line is 24 px high. A drawing is scaled by its own buttons: its
 * nodes are measured as they are at 100 %, and each has a task in the list below. What is hidden until it is focused is for keyboards.
 */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(findSmall, SIZES);
}

/** Runs in the page, so it uses nothing from outside. */
function findSmall({ least, line }: Sizes): string[] {
  const all = 'a[href], button, input, select, textarea, summary, [role="button"], [role="treeitem"]';
  const open = document.querySelector<HTMLElement>("dialog[open]") ?? document.body;
  const found = [...open.querySelectorAll<HTMLElement>(all)].filter((element) => isShown(element) && !isInSentence(element));
  return found.flatMap((element) => {
    const { width, height } = size(element);
    const isEnough = width >= least && height >= (element.matches(".diff-number") ? line : least);
    return isEnough ? [] : [`${element.getAttribute("role") ?? element.localName} "${name(element)}" ${Math.round(width * 10) / 10}×${Math.round(height * 10) / 10} (${place(element)})`];
  });

  function isShown(element: HTMLElement): boolean {
    const { width, height, bottom } = element.getBoundingClientRect();
    return width > 1 && height > 1 && bottom + scrollY > 0 && element.checkVisibility({ visibilityProperty: true });
  }

  function isInSentence(element: HTMLElement): boolean {
    const text = element.closest<HTMLElement>("p");
    if (element.localName !== "a" || getComputedStyle(element).display !== "inline" || text === null) return false;
    const links = [...text.querySelectorAll("a")].reduce((sum, { textContent }) => sum + letters(textContent), 0);
    return letters(text.textContent) > links;
  }

  function letters(words: string | null): number {
    return (words?.match(/\p{L}/gu) ?? []).length;
  }

  function size(element: HTMLElement): { width: number; height: number } {
    const scale = element instanceof SVGGraphicsElement ? (element.getScreenCTM()?.a ?? 1) : 1;
    const { width, height } = (element.closest("label") ?? element).getBoundingClientRect();
    return Math.min(width, height) >= least || element instanceof SVGElement ? { width: width / scale, height: height / scale } : reach(element);
  }

  /** Returns the size of what reaches the element where it is touched, which goes beyond its box if it covers a row. */
  function reach(element: HTMLElement): { width: number; height: number } {
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const box = (element.closest("label") ?? element).getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const hits = (dx: number, dy: number): boolean => {
      const hit = document.elementFromPoint(x + dx, y + dy);
      return hit?.closest("label")?.contains(element) === true || hit?.closest(all) === element;
    };
    const far = (dx: number, dy: number): number => {
      let at = 0;
      while (at < least && hits(dx * (at + 0.5), dy * (at + 0.5))) at += 0.5;
      return at;
    };
    return { width: Math.max(box.width, far(-1, 0) + far(1, 0)), height: Math.max(box.height, far(0, -1) + far(0, 1)) };
  }

  function name(element: HTMLElement): string {
    const label = element.getAttribute("aria-label") ?? element.closest("label")?.textContent ?? element.textContent ?? "";
    return (label.trim() || element.id || (element as HTMLInputElement).type || "").slice(0, 60);
  }

  function place(element: Element): string {
    return [element.parentElement?.closest("[class]"), element].map((one) => `.${one?.getAttribute("class")?.trim().replaceAll(/\s+/g, ".") ?? ""}`).filter((one) => one !== ".").join(" ");
  }
}
