// Requests for what waits for a person. Knows no view.

import { joinPages } from "../fold/inbox";
import { request } from "./source";
import type { InboxItem, InboxPage } from "./types";

/** Loads the first pages of an inbox as one; a page ends early where its questions are long. `path` may have a query. */
export async function loadInbox(path: string, pages: number, signal?: AbortSignal): Promise<InboxPage> {
  const read: InboxItem[][] = [];
  let page: InboxPage = { items: [], next: "", waiting: 0 };
  while (read.length < pages && page.next != null) {
    const after = page.next === "" ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(page.next)}`;
    page = await request<InboxPage>(path + after, { signal });
    read.push(page.items);
  }
  return { ...page, items: joinPages(read) };
}
