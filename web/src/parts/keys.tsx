// The keys that work on every view, and the list of all keys that `?` shows. A view adds its own while it is shown.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { isRecording } from "../api/recording";
import { go } from "../routing/navigation";

export interface KeyAction {
  /** Several of a list are apart by spaces. */
  key: string;
  about: string;
  /** Left out for keys of an element that has the focus, which handles them itself: they are in the list only. */
  run?: () => void;
}

const isHelpShown = signal(false);
const ofView = signal<KeyAction[][]>([]);

const HELP: KeyAction = { key: "?", about: "show the keys", run: () => (isHelpShown.value = true) };
/** A file has one run, and no other place to go to. */
const EVERYWHERE: KeyAction[] = isRecording() ? [HELP] : [
  HELP,
  { key: "/", about: "search threads", run: search },
  { key: "i", about: "go to the inbox", run: () => go({ view: "inbox" }) },
  { key: "t", about: "go to the threads", run: () => go({ view: "threads", search: "" }) },
];

/** Adds keys for as long as a view is shown. */
export function useKeys(keys: KeyAction[]): void {
  useEffect(() => {
    const own = [...keys];
    ofView.value = [...ofView.value, own];
    return () => (ofView.value = ofView.value.filter((others) => others !== own));
  }, [keys]);
}

/** Listens to the keys: not while a text is typed, and not with a modifier. */
export function handleKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const action = [...ofView.value.flat(), ...EVERYWHERE].find(({ key, run }) => run !== undefined && key === event.key);
    if (action?.run === undefined) return;
    event.preventDefault();
    action.run();
  });
}

const NAMES: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };

/** The keys without those that are there twice, as two parts of a view have them. */
function listed(keys: KeyAction[]): KeyAction[] {
  return keys.filter(({ key, about }, at) => keys.findIndex((one) => one.key === key && one.about === about) === at);
}

export function KeyHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = isHelpShown.value;
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
  }, [isShown]);
  if (!isShown) return null;
  return (
    <dialog ref={dialog} class="dialog stack" aria-labelledby="key-help" onClose={() => (isHelpShown.value = false)}>
      <h2 id="key-help">Keys</h2>
      <dl class="facts">
        {listed([...EVERYWHERE, ...ofView.value.flat()]).map(({ key, about }) => [
          <dt class="row">
            {key.split(" ").map((one) => (
              <kbd key={one}>{NAMES[one] ?? one}</kbd>
            ))}
          </dt>,
          <dd>{about}</dd>,
        ])}
      </dl>
      <form method="dialog">
        <button class="button" type="submit" autofocus>
          Close
        </button>
      </form>
    </dialog>
  );
}

/** Focuses the box at once, where the view has one: the next key is already part of the text. */
function search(): void {
  const box = document.querySelector<HTMLInputElement>('main [type="search"]');
  if (box !== null) return box.focus();
  go({ view: "threads", search: "" });
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>('main [type="search"]')?.focus());
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return element?.closest?.("input:not([type=checkbox], [type=range]), textarea, select, [contenteditable]") != null;
}
