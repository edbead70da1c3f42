// All threads: found, followed as they change, and cancelled or deleted together.

import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";

import { countText, readNames, rowAt, STATUSES, type Filter } from "../../fold/threads";
import { Empty, ErrorNote, Loading } from "../../parts/notes";
import { useKeys } from "../../parts/keys";
import type { VirtualListHandle } from "../../parts/virtual_list";
import { go, href } from "../../routing/navigation";
import type { Route } from "../../routing/routes";
import { Actions } from "./actions";
import { Filters } from "./filters";
import { ImportButton, ImportResult, useImport } from "./import";
import { Table } from "./table";
import { ThreadList } from "./thread_list";
import "./threads.css";

/** The list that was shown last: Back finds it as it was. */
let last: ThreadList | undefined;

export function Threads({ route }: { route: Extract<Route, { view: "threads" }> }) {
  const filter: Filter = { search: route.search, status: STATUSES.find(({ value }) => value === route.status)?.value ?? "", graph: route.graph ?? "" };
  const name = JSON.stringify(filter);
  const list = useMemo(() => (last !== undefined && JSON.stringify(last.filter) === name ? last : (last = new ThreadList(filter))), [name]);
  useEffect(() => list.open(), [list]);
  const importing = useImport();
  const show = (to: Filter, isSameGo: boolean): void => {
    go({ view: "threads", search: to.search, status: to.status, graph: to.graph }, { replace: isSameGo });
    scrollTo(0, 0);
  };
  return (
    <div class="threads stack">
      <header class="row threads-head">
        <h1>Threads</h1>
        <p class="soft" role="status">
          {list.isLoaded.value ? countText(list.pages.value.count) : ""}
        </p>
        <ImportButton importing={importing} />
      </header>
      <ImportResult importing={importing} />
      <Filters filter={filter} onFilter={show} />
      {list.error.value !== null && <ErrorNote error={list.error.value} onRetry={() => void list.reload()} />}
      {!list.isLoaded.value && list.error.value === null && <Loading what="the threads" />}
      {list.isLoaded.value && list.pages.value.count === 0 && <Nothing isFiltered={filter.search + filter.status + filter.graph !== ""} />}
      {list.pages.value.count > 0 && <Listed key={name} list={list} />}
    </div>
  );
}

function Listed({ list }: { list: ThreadList }) {
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const current = useSignal(-1);
  const handle = useRef<VirtualListHandle>(null);
  const { count } = list.pages.value;
  const select = useCallback((thread: string, isSelected: boolean): void => {
    const names = new Set(selected.value);
    if (isSelected) names.add(thread);
    else names.delete(thread);
    selected.value = names;
  }, []);
  const goTo = useCallback((index: number): void => void (current.value = index), []);
  const move = (to: number): void => {
    const index = Math.max(0, Math.min(to, count - 1));
    current.value = index;
    handle.current?.show(index);
    focusRow(index);
  };
  const toggle = (): void => {
    const thread = rowAt(list.pages.value, current.value)?.thread_id;
    if (thread !== undefined) select(thread, !selected.value.has(thread));
  };
  useKeys([
    { key: "j", about: "next thread", run: () => move(current.value + 1) },
    { key: "k", about: "thread before", run: () => move(current.value - 1) },
    { key: "ArrowDown", about: "next thread", run: () => move(current.value + 1) },
    { key: "ArrowUp", about: "thread before", run: () => move(current.value - 1) },
    { key: "x", about: "select the thread", run: toggle },
    { key: "Enter", about: "open the thread" },
  ]);
  const shown = readNames(list.pages.value).filter((thread) => !list.gone.value.has(thread));
  return (
    <>
      <Actions
        selected={[...selected.value]}
        shown={shown}
        onSelect={(threads) => (selected.value = new Set(threads))}
        onChanged={() => void list.reload()}
      />
      <Fresh count={list.fresh.value.size} onShow={() => (scrollTo(0, 0), list.show(0, 30), (current.value = -1), void list.reload())} />
      <Table list={list} handle={handle} selected={selected.value} current={current.value} onSelect={select} onCurrent={goTo} />
    </>
  );
}

function Fresh({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <div class="threads-fresh" role="status">
      {count > 0 && (
        <button class="button" data-kind="main" type="button" onClick={onShow}>
          {count} new
        </button>
      )}
    </div>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No thread fits">
        <p>
          <a class="lone-link" href={href({ view: "threads", search: "" })}>Show all threads</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="There is no thread yet">
      <p>A thread is one run of a graph with all that it has done. Each run makes one, whether it is started here, by a client or on the command line. Import brings one from a file that was exported.</p>
      <p>
        <a class="lone-link" href={href({ view: "start" })}>Start a run</a>
      </p>
    </Empty>
  );
}

/** Focuses the link of a row, once it is in the document. */
function focusRow(index: number, tries = 10): void {
  const link = document.querySelector<HTMLElement>(`.threads-row[data-index="${index}"] a`);
  if (link !== null) link.focus({ preventScroll: true });
  else if (tries > 0) requestAnimationFrame(() => focusRow(index, tries - 1));
}
