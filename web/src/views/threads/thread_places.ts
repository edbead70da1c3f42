// Where the threads in view are, and what they cost: asked of the server for a few at a time, once the list has come to rest. Knows no list.

import { signal } from "@preact/signals";

import { RequestError, request } from "../../api/source";
import type { ListedThread, ThreadPlace } from "../../fold/threads";

const REST = 120;
const AT_A_TIME = 4;
const KEPT = 2000;

export class ThreadPlaces {
  /** The places by thread. */
  readonly known = signal<ReadonlyMap<string, ThreadPlace>>(new Map());
  /** The time of the change after which a place was read. */
  private readonly versions = new Map<string, string>();
  private wanted: ListedThread[] = [];
  private timer: number | undefined;
  private isBusy = false;
  private isThere = true;

  /** Asks for the places of these threads, which are in view now, and no more for others. */
  want(threads: ListedThread[]): void {
    this.wanted = threads.filter((thread) => this.versions.get(thread.thread_id) !== thread.updated_at);
    if (this.wanted.length === 0 || !this.isThere) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(), REST) as unknown as number;
  }

  close(): void {
    clearTimeout(this.timer);
    this.wanted = [];
  }

  private async read(): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    while (this.wanted.length > 0 && this.isThere) {
      const some = this.wanted.splice(0, AT_A_TIME);
      const places = await Promise.all(some.map((thread) => this.place(thread)));
      const known = new Map(this.versions.size > KEPT ? [] : this.known.value);
      if (known.size === 0) this.versions.clear();
      some.forEach((thread, at) => {
        this.versions.set(thread.thread_id, thread.updated_at);
        const place = places[at];
        if (place !== undefined) known.set(thread.thread_id, place);
      });
      this.known.value = known;
    }
    this.isBusy = false;
  }

  private async place({ thread_id }: ListedThread): Promise<ThreadPlace | undefined> {
    try {
      return await request<ThreadPlace>(`/threads/${encodeURIComponent(thread_id)}/status`);
    } catch (cause) {
      if (cause instanceof RequestError && cause.message.startsWith("there is no route")) this.isThere = false;
      return undefined;
    }
  }
}
