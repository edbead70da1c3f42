// The list of threads as it is read from the server: pages as they come into view, changes as they happen. It keeps its rows in their
// places; what is new waits until it is asked for, or comes by itself at the top. Knows no element.

import { batch, signal } from "@preact/signals";

import { listen, type Activity } from "../../api/activity";
import { key } from "../../api/key";
import { request } from "../../api/source";
import type { JsonObject } from "../../api/types";
import { emptyPages, LIST_FIELDS, newerThan, offsetOf, pagesBetween, readNames, rowsBetween, searchBody, withChanges, type Filter, type ListedThread, type Pages } from "../../fold/threads";
import { ThreadPlaces } from "./thread_places";

const SIZE = 100;
/** The changes of this many milliseconds are read at once. */
const MOMENT = 300;
/** A list that is scrolled fast is read when it has rested for this many milliseconds. */
const REST = 100;
const ALL = 1000;

export class ThreadList {
  readonly pages = signal<Pages>(emptyPages(SIZE));
  readonly isLoaded = signal(false);
  readonly error = signal<Error | null>(null);
  /** Threads that were made since the list was read. */
  readonly fresh = signal<ReadonlySet<string>>(new Set());
  readonly gone = signal<ReadonlySet<string>>(new Set());
  readonly places = new ThreadPlaces();
  private seen = { start: 0, end: SIZE };
  private stop = new AbortController();
  /** The pages that are on their way. */
  private readonly asked = new Map<number, AbortController>();
  private readonly changed = new Set<string>();
  private timer: number | undefined;
  private rest: number | undefined;
  private round = 0;

  constructor(readonly filter: Filter) {}

  /** Reads it, and follows what happens; returns the function that ends that. */
  open(): () => void {
    this.stop = new AbortController();
    void this.reload();
    const unlisten = listen((events) => (events === null ? void this.reload() : this.hear(events)));
    const old = key.value;
    const unkey = key.subscribe((now) => now !== old && void this.reload());
    return () => {
      this.stop.abort();
      this.leaveAll();
      clearTimeout(this.rest);
      clearTimeout(this.timer);
      this.timer = undefined;
      this.places.close();
      unlisten();
      unkey();
    };
  }

  /** Reads what is in view anew, and forgets the rest. */
  async reload(): Promise<void> {
    const round = ++this.round;
    this.leaveAll();
    const numbers = pagesBetween({ ...this.pages.value, count: Math.max(this.pages.value.count, SIZE) }, this.seen.start, this.seen.end);
    try {
      const [count, ...read] = await Promise.all([this.post<number>("/threads/count", {}), ...numbers.map((page) => this.page(page * SIZE))]);
      if (round !== this.round) return;
      batch(() => {
        this.pages.value = { size: SIZE, count: Math.max(count, (numbers[0] ?? 0) * SIZE + (read[0]?.length ?? 0)), read: new Map(numbers.map((page, at) => [page, read[at] ?? []])) };
        [this.fresh.value, this.gone.value, this.error.value, this.isLoaded.value] = [new Set(), new Set(), null, true];
      });
      this.changed.clear();
      void this.fill();
    } catch (cause) {
      this.fail(cause);
    }
  }

  /** Says which rows are in view: from `start` to before `end`. */
  show(start: number, end: number): void {
    const isJump = Math.abs(start - this.seen.start) > end - start;
    this.seen = { start, end };
    clearTimeout(this.rest);
    if (isJump) this.rest = setTimeout(() => void this.fill(), REST) as unknown as number;
    else void this.fill();
    if (this.changed.size > 0) this.schedule();
  }

  /** Reads the pages in view; those that were only scrolled past are not waited for. */
  private async fill(): Promise<void> {
    const { start, end } = this.seen;
    this.places.want(this.rows());
    const wanted = pagesBetween(this.pages.value, start, end);
    for (const [page, stop] of this.asked) if (!wanted.includes(page)) this.leave(page, stop);
    const missing = wanted.filter((page) => !this.pages.value.read.has(page) && !this.asked.has(page));
    await Promise.all(missing.map((page) => this.fillPage(page)));
  }

  private async fillPage(page: number): Promise<void> {
    const stop = new AbortController();
    this.asked.set(page, stop);
    try {
      const read = await this.page(offsetOf(this.pages.value, page, this.fresh.value.size, this.gone.value), stop.signal);
      this.pages.value = { ...this.pages.value, read: new Map(this.pages.value.read).set(page, read) };
      this.places.want(this.rows());
    } catch (cause) {
      if (!stop.signal.aborted) this.fail(cause);
    }
    if (this.asked.get(page) === stop) this.asked.delete(page);
  }

  private leave(page: number, stop: AbortController): void {
    stop.abort();
    this.asked.delete(page);
  }

  private leaveAll(): void {
    for (const [page, stop] of this.asked) this.leave(page, stop);
  }

  private hear(events: Activity[]): void {
    const deleted = events.filter(({ kind }) => kind === "deleted").map(({ thread }) => thread);
    if (deleted.length > 0) this.gone.value = new Set([...this.gone.value, ...deleted]);
    for (const { thread, kind } of events) if (kind !== "deleted") this.changed.add(thread);
    if (this.changed.size > 0) this.schedule();
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.readChanges().catch((cause: unknown) => this.fail(cause));
    }, MOMENT) as unknown as number;
  }

  /** Reads the changed rows that are in view, and whether others are new; the rest is read when it comes into view. */
  private async readChanges(): Promise<void> {
    const round = this.round;
    const known = new Set(readNames(this.pages.value));
    const shown = this.rows().map(({ thread_id }) => thread_id).filter((name) => this.changed.has(name));
    const others = [...this.changed].filter((name) => !known.has(name) && !this.fresh.value.has(name)).slice(0, ALL);
    for (const name of [...shown, ...others]) this.changed.delete(name);
    const [changed, candidates] = await Promise.all([this.named(shown, {}), this.named(others, searchBody(this.filter))]);
    if (round !== this.round) return;
    this.pages.value = withChanges(this.pages.value, changed);
    this.places.want(this.rows());
    const fresh = newerThan(this.pages.value, candidates).map(({ thread_id }) => thread_id);
    if (fresh.length === 0) return;
    if (scrollY < 4) await this.reload();
    else this.fresh.value = new Set([...this.fresh.value, ...fresh]);
  }

  /** Returns the rows that are in view. */
  private rows(): ListedThread[] {
    return rowsBetween(this.pages.value, this.seen.start, this.seen.end);
  }

  private named(ids: string[], fits: JsonObject): Promise<ListedThread[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return request("/threads/search", { method: "POST", body: { ...fits, ids, limit: ids.length, select: LIST_FIELDS }, signal: this.stop.signal });
  }

  private page(offset: number, signal = this.stop.signal): Promise<ListedThread[]> {
    return this.post("/threads/search", { limit: SIZE, offset, select: LIST_FIELDS }, signal);
  }

  private post<T>(path: string, body: JsonObject, signal = this.stop.signal): Promise<T> {
    return request<T>(path, { method: "POST", body: { ...searchBody(this.filter), ...body }, signal });
  }

  private fail(cause: unknown): void {
    if (this.stop.signal.aborted) return;
    this.error.value = cause instanceof Error ? cause : new Error(String(cause));
  }
}
