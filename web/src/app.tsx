// The frame: the links, the view of the address, and the keys that work everywhere. Knows no view from inside.

import { useEffect, useRef } from "preact/hooks";

import { connection } from "./api/activity";
import { isKeyWanted } from "./api/key";
import { readRecording } from "./api/recording";
import { said } from "./live/say";
import type { KeyRole } from "./live/server";
import { waiting } from "./live/waiting";
import { KeyHelp } from "./parts/keys";
import { RoleNote } from "./parts/role_note";
import { href, route } from "./routing/navigation";
import type { Route } from "./routing/routes";
import { KeyForm } from "./views/settings/key_form";
import { View } from "./views/view";

const LINKS: { name: string; to: Route; views: Route["view"][] }[] = [
  { name: "Inbox", to: { view: "inbox" }, views: ["inbox"] },
  { name: "Threads", to: { view: "threads", search: "" }, views: ["threads", "thread", "task", "diff"] },
  { name: "Start", to: { view: "start" }, views: ["start"] },
  { name: "Spend", to: { view: "spend" }, views: ["spend"] },
];

/** What the buttons of a view do, and the role that a key needs for it. */
const ACTIONS: Partial<Record<Route["view"], { needs: KeyRole; what: string }>> = {
  inbox: { needs: "answer", what: "answer a question" },
  thread: { needs: "answer", what: "answer a question" },
  task: { needs: "answer", what: "answer a question" },
  threads: { needs: "run", what: "cancel a run" },
};

export function App() {
  const main = useRef<HTMLElement>(null);
  const now = route.value;
  const place = placeOf(now);
  const isFirst = useRef(true);
  const isAsked = isKeyWanted.value && now.view !== "settings";
  const action = ACTIONS[now.view];
  useEffect(() => {
    // A reader of the screen hears the new view: its heading comes next.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [place]);
  const recording = readRecording();
  if (recording !== null) return <Recorded at={recording.exported_at} route={now} />;
  return (
    <div class="frame">
      <a class="skip-link" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <Navigation view={now.view} />
      <main class="frame-main" id="main" ref={main} tabIndex={-1}>
        {action !== undefined && !isAsked && <RoleNote {...action} />}
        {isAsked ? <KeyForm isAsked /> : <View route={now} />}
      </main>
      <p class="visually-hidden" role="status">
        {said.value}
      </p>
      <KeyHelp />
    </div>
  );
}

/** A run in a file: nothing but its views. */
function Recorded({ at, route }: { at: string; route: Route }) {
  return (
    <div>
      <header class="frame-recorded row">
        <span class="frame-brand">
          <Logo /> superstep
        </span>
        <span class="soft">
          recorded <time dateTime={at}>{new Date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })}</time>, read only
        </span>
      </header>
      <main class="frame-main">
        <View route={route} />
      </main>
      <KeyHelp />
    </div>
  );
}

/** The part of a route whose change is a new view: not what is searched for, nor the checkpoint that a slider is at. */
function placeOf(now: Route): string {
  if (now.view === "threads") return "threads";
  return now.view === "thread" ? `thread ${now.thread}` : JSON.stringify(now);
}

function Navigation({ view }: { view: Route["view"] }) {
  return (
    <nav class="frame-nav" aria-label="Main">
      <a class="frame-brand" href={href({ view: "inbox" })}>
        <Logo /> superstep
      </a>
      <div class="frame-links">
        {LINKS.map((link) => (
          <a class="frame-link" href={href(link.to)} aria-current={link.views.includes(view) ? "page" : undefined}>
            {link.name}
            {link.name === "Inbox" && waiting.value > 0 && (
              <span class="frame-count" aria-label={`${waiting.value} waiting`}>
                {waiting.value}
              </span>
            )}
          </a>
        ))}
      </div>
      <div class="frame-foot">
        <a class="frame-link" href={href({ view: "settings" })} aria-current={view === "settings" ? "page" : undefined}>
          Settings
        </a>
        <Connection />
      </div>
    </nav>
  );
}

function Connection() {
  const words = { connecting: "Connecting…", live: "Live", lost: "The server does not answer" };
  return (
    <p class="frame-state" role="status" data-state={connection.value}>
      {words[connection.value]}
    </p>
  );
}

function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#3a5bd9" />
      <path d="M8 23h6v-6h6v-6h5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
