// The answer to a question while it is made: the chosen action, what was typed in, and its way to the server.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";

import { sendAnswer } from "../../api/answers";
import type { Ask, InboxItem, Json } from "../../api/types";
import { actionsOf, type Action } from "../../fold/actions";
import { FORM, type Comment, type Writing } from "../../fold/comments";
import { draftAnswer } from "../../fold/draft_field";
import { keepable } from "../../fold/drafts";
import { giveAnswer, isAnsweredByNote } from "../../fold/given";
import { resolve, same, startValue, type FormProblem } from "../../fold/schema";
import { myName } from "../../live/my_name";
import { useDraft } from "./use_draft";

export interface AnswerState {
  actions: Action[];
  /** The action whose form is shown. */
  chosen: Action | null;
  value: Json | undefined;
  problems: FormProblem[];
  note: string;
  comments: Comment[];
  /** Comments that are being written. */
  writing: Writing;
  /** The edited plan; null while it is not edited. */
  draft: string | null;
  /** The action that is asked once more. */
  asked: Action | null;
  error: Error | null;
  isSending: boolean;
  /** What became of the last answer, if the question is still open. */
  result: string | null;
  /** Set if something was typed in. */
  isTyped: boolean;
  setValue: (value: Json | undefined) => void;
  setNote: (note: string) => void;
  setComments: (comments: Comment[]) => void;
  setDraft: (draft: string | null) => void;
  choose: (action: Action) => void;
  leave: () => void;
  confirm: () => void;
  cancel: () => void;
  /** Forgets what was typed in. */
  forget: () => void;
}

export function useAnswer(item: InboxItem, ask: Ask, planText: string, onSent: () => void): AnswerState {
  const actions = useMemo(() => actionsOf(ask), [ask]);
  const first = mainForm(actions);
  const keeper = useDraft(item.thread, ask);
  const kept = keeper.first;
  const again = actions.find((action) => action.name === kept?.name) ?? first;
  // By name, since the question is made anew whenever the inbox is read.
  const [name, setName] = useState(again?.name ?? null);
  const chosen = actions.find((action) => action.name === name) ?? null;
  const [value, setValue] = useState<Json | undefined>(() => (again?.name === kept?.name ? kept?.value : undefined) ?? start(again));
  const [problems, setProblems] = useState<FormProblem[]>([]);
  const [note, setNote] = useState(kept?.note ?? "");
  const [comments, setComments] = useState<Comment[]>(kept?.comments ?? []);
  const [draft, setDraft] = useState<string | null>(kept?.plan ?? null);
  const [writing, written] = useWriting(kept?.writing);
  const [asked, setAsked] = useState<Action | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isSending, setSending] = useState(false);
  const [result, setResult] = useState<string | null>(null);

  const show = (action: Action | null): void => {
    setName(action?.name ?? null);
    setValue(start(action));
    setProblems([]);
    writing.clear(FORM);
  };
  const reset = (): void => {
    show(first);
    setNote("");
    setComments([]);
    setDraft(null);
    writing.clear("");
    keeper.forget();
  };
  const send = async (action: Action): Promise<void> => {
    const given = giveAnswer(action, chosen === action ? value : start(action), note, comments);
    const edited = draft !== null && draft !== planText && action === actions[0] ? actions.find(({ isDraft }) => isDraft) : undefined;
    const answer = edited === undefined || draft === null ? given.answer : draftAnswer(edited, draft);
    setAsked(null);
    setError(null);
    setSending(true);
    try {
      await sendAnswer(item, { answer, note: given.note, by: myName.value });
      setResult(ask.superstep.approvals > 1 ? "Your answer is stored. The question stays open until enough people give the same one." : null);
      reset();
      onSent();
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)));
    }
    setSending(false);
  };
  const choose = (action: Action): void => {
    const isShown = chosen === action || action.form === null || draft !== null;
    if (!isShown && !isAnsweredByNote(action, note, comments)) return show(action);
    const found = draft !== null && action === actions[0] ? [] : giveAnswer(action, chosen === action ? value : start(action), note, comments).problems;
    setProblems(found);
    if (found.length > 0) return;
    if (action.isFinal) setAsked(action);
    else void send(action);
  };
  const isTyped = note !== "" || comments.length > 0 || writing.all.size > 0 || (draft !== null && draft !== planText) || !same(value, start(chosen));
  // At once, as the page may be left before the next frame.
  useLayoutEffect(
    () => keeper.note(isTyped ? { name, value: keepable(chosen, value), note, comments, plan: draft, writing: Object.fromEntries(writing.all) } : null),
    [isTyped, name, value, note, comments, draft, written],
  );
  return {
    actions,
    chosen,
    value,
    problems,
    note,
    comments,
    writing,
    draft,
    asked,
    error,
    isSending,
    result,
    isTyped,
    setValue,
    setNote,
    setComments,
    setDraft,
    choose,
    leave: () => show(first),
    confirm: () => void (asked !== null && send(asked)),
    cancel: () => setAsked(null),
    forget: keeper.forget,
  };
}

/** Comments that are being written, and the number of their changes. The object stays the same, so that lines are not drawn again. */
function useWriting(first: Record<string, string> = {}): [Writing & { clear: (start: string) => void }, number] {
  const [count, setCount] = useState(0);
  const writing = useMemo(() => {
    const all = new Map(Object.entries(first));
    const change = (work: () => void): void => (work(), setCount((now) => now + 1));
    return { all, write: (place: string, text: string) => change(() => void (text === "" ? all.delete(place) : all.set(place, text))), clear: (start: string) => change(() => [...all.keys()].forEach((place) => place.startsWith(start) && all.delete(place))) };
  }, []);
  return [writing, count];
}

/** The main action, if it has a form: that is shown from the start. */
function mainForm(actions: Action[]): Action | null {
  const [main] = actions;
  return main === undefined || main.form === null || main.isDraft ? null : main;
}

function start(action: Action | null): Json | undefined {
  return action?.form == null || action.variants !== null ? undefined : startValue(resolve(action.form, action.form), action.form);
}
