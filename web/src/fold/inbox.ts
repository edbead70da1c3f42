// What waits for a person, as cards: grouped by thread, in the order of their oldest question. Knows no DOM.

import type { InboxItem, InboxPage, ItemKind, Terms } from "../api/types";

export interface Group {
  thread: string;
  graph: string;
  title: string | null;
  since: string;
  items: InboxItem[];
}

/** Groups items by thread; the thread that has waited longest is first. */
export function groupItems(items: InboxItem[]): Group[] {
  const groups = new Map<string, Group>();
  for (const item of items) {
    const group = groups.get(item.thread);
    if (group === undefined) groups.set(item.thread, { thread: item.thread, graph: item.graph, title: item.title ?? null, since: item.since, items: [item] });
    else group.items.push(item);
  }
  return [...groups.values()].sort((a, b) => a.since.localeCompare(b.since));
}

/** Puts the pages of the inbox together; what is on two of them, since it moved between the requests, is there once. */
export function joinPages(pages: InboxItem[][]): InboxItem[] {
  const known = new Map<string, InboxItem>();
  for (const item of pages.flat()) known.set(itemKey(item), item);
  return [...known.values()];
}

/**
 * Adds the questions into which somebody types and that the inbox has no longer: they stay until they are dismissed. `left` are those that are
 * not open any more; one that may be on a page that was not read is open as far as is known.
 */
export function withKept({ items, next }: InboxPage, kept: InboxItem[]): { items: InboxItem[]; left: Set<string> } {
  const known = new Set(items.map(itemKey));
  const missing = kept.filter((item) => !known.has(itemKey(item)));
  const last = items.at(-1)?.since ?? "";
  const left = missing.filter(({ since }) => next === null || since < last).map(itemKey);
  return { items: [...items, ...missing].sort((a, b) => a.since.localeCompare(b.since)), left: new Set(left) };
}

export function itemKey(item: InboxItem): string {
  return `${item.thread}\n${item.question?.id ?? item.kind}`;
}

const KINDS: Record<Exclude<ItemKind, "question">, { title: string; mark: "bad" | "warn" }> = {
  failed: { title: "The run failed", mark: "bad" },
  "needs-migration": { title: "Stored by another version of its graph", mark: "warn" },
  untrusted: { title: "Imported, and not trusted yet", mark: "warn" },
  damaged: { title: "A record cannot be read", mark: "bad" },
  stalled: { title: "Nothing runs it", mark: "warn" },
};

export function kindTexts(kind: Exclude<ItemKind, "question">): { title: string; mark: "bad" | "warn" } {
  return KINDS[kind];
}

/** Says who may answer, and how many must: `1 of 2`. */
export function termsTexts(terms: Terms): { approvers: string | null; votes: string | null; after: string | null } {
  return {
    approvers: terms.approvers.length === 0 ? null : terms.approvers.join(", "),
    votes: terms.approvals > 1 ? `${terms.votes.length} of ${terms.approvals}` : null,
    after: terms.expires === null ? null : terms.default === null ? "the run ends with an error" : `the answer is ${JSON.stringify(terms.default)}`,
  };
}

/** Returns a question's name as a heading: `may_pay` is `May pay`. */
export function nameTitle(name: string): string {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words === "" ? "Question" : words.charAt(0).toUpperCase() + words.slice(1);
}
