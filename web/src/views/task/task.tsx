// One task: what it read, wrote and asked, its effects, and what its agents did, as it happens.

import { useEffect } from "preact/hooks";

import { isRecording } from "../../api/recording";
import { useResource } from "../../api/resource";
import { loadStatus, loadTask, loadThreadInbox } from "../../api/run";
import type { RunStatus, TaskDetail } from "../../api/run_types";
import { useThreadChanges } from "../../api/thread_changes";
import { attemptsOf, taskFacts, taskWords } from "../../fold/task";
import { ErrorNote, Loading } from "../../parts/notes";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import { RunQuestions } from "../run/run_notes";
import { JournalList } from "./journal_list";
import { LivePart } from "./live_part";
import { InputPart, WritesPart } from "./values_part";
import { EventsPart } from "./events_part";
import "./task.css";

interface TaskProps {
  thread: string;
  checkpoint?: string | undefined;
  task: string;
  within?: string[] | undefined;
}

/** The pause between two looks at a task that runs, in milliseconds: its journal grows without a new checkpoint. */
const LOOK = 1500;

export function TaskView({ thread, checkpoint, task, within = [] }: TaskProps) {
  // The id of a task begins with the checkpoint that planned it.
  const at = checkpoint ?? task.split("-")[0] ?? "";
  const found = useResource(`task ${thread} ${at} ${task} ${within.join(" ")}`, (signal) => loadTask(thread, { checkpoint: at, task, within }, signal));
  const status = useResource(`status ${thread}`, (signal) => loadStatus(thread, signal));
  const asks = (found.value?.questions ?? []).length > 0;
  const inbox = useResource(asks ? `questions ${thread}` : "no questions", (signal) => (asks ? loadThreadInbox(thread, signal) : Promise.resolve([])));
  const reload = (): void => (found.reload(), status.reload(), inbox.reload());
  useThreadChanges(thread, reload);
  const isRunning = !isRecording() && found.value?.status === "pending" && status.value?.status === "running";
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => (found.reload(), status.reload()), LOOK);
    return () => clearInterval(timer);
  }, [isRunning]);
  const { value, error } = found;
  const asked = new Set((value?.questions ?? []).map(({ id }) => id));
  const questions = (inbox.value ?? []).filter(({ question }) => question != null && asked.has(question.id));
  return (
    <div class="task stack">
      <TaskHeader thread={thread} at={at} task={value} name={task} isRunning={isRunning} status={status.value} />
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading what="the task" />}
      {value !== undefined && (
        <>
          <Attempts task={value} />
          <RunQuestions items={questions} onAnswered={reload} />
          <LivePart thread={thread} task={value} isRunning={isRunning} within={within} hasOthers={(status.value?.running ?? []).length > 1} />
          <InputPart thread={thread} checkpoint={at} task={value} isNested={within.length > 0} />
          <WritesPart task={value} />
          <JournalList journal={value.journal ?? null} isRunning={isRunning} />
          <EventsPart events={value.events ?? []} />
        </>
      )}
    </div>
  );
}

interface HeaderProps {
  thread: string;
  at: string;
  task: TaskDetail | undefined;
  name: string;
  isRunning: boolean;
  status: RunStatus | undefined;
}

function TaskHeader({ thread, at, task, name, isRunning, status }: HeaderProps) {
  const words = task === undefined ? null : taskWords(task, isRunning);
  const running = isRunning ? status?.running?.find((one) => (one.task === undefined ? one.node === (task?.path ?? [task?.node]).join("/") : one.task === name)) : undefined;
  return (
    <header class="stack task-header">
      <p class="row task-way">
        <a class="lone-link" href={href({ view: "thread", thread })}><Visible text={thread} /></a>
        <span aria-hidden="true">›</span>
        <a class="lone-link" href={href({ view: "thread", thread, checkpoint: at })}>checkpoint {at}</a>
        <span aria-hidden="true">›</span>
        <span class="soft">task {name}</span>
      </p>
      <div class="row">
        <h1><Visible text={task?.node ?? `Task ${name}`} /></h1>
        {words !== null && (
          <span class="mark" data-kind={words.mark}>
            {words.text}
          </span>
        )}
      </div>
      {(task?.label ?? running?.label) != null && <p><Visible text={task?.label ?? running?.label ?? ""} /></p>}
      {task?.summary != null && <p class="soft"><Visible text={task.summary} /></p>}
      {running?.action !== undefined && <p class="soft"><Visible text={running.action} /></p>}
      {task !== undefined && (
        <p class="row task-facts">
          {task.started_at != null && (
            <span>
              <span class="soft">Started</span> <Ago at={task.started_at} />
            </span>
          )}
          {taskFacts(task).map(({ name: fact, value }) => (
            <span key={fact}>
              <span class="soft">{fact}</span> {value}
            </span>
          ))}
        </p>
      )}
    </header>
  );
}

function Attempts({ task }: { task: TaskDetail }) {
  const attempts = attemptsOf(task);
  if (attempts.length === 0) return null;
  return (
    <section class="stack">
      <h2>Attempts</h2>
      <ol class="task-attempts" role="list">
        {attempts.map(({ number, at, error }) => (
          <li class="note stack" data-kind={error === null ? "good" : "bad"} key={number}>
            <p class="row">
              <strong>Attempt {number}</strong>
              <span>{error === null ? "succeeded" : "failed"}</span>
              {at !== null && (
                <span class="soft">
                  <Ago at={at} />
                </span>
              )}
            </p>
            {error !== null && <pre class="task-error" tabIndex={0}><Visible text={error} /></pre>}
          </li>
        ))}
      </ol>
    </section>
  );
}
