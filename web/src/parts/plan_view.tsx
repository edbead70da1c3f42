// A plan as a person reads it: what is wrong with it, its tasks with files, dependencies and commands, and its text.

import type { Plan, PlanTask } from "../fold/plan";
import { Button } from "./button";
import { Commands } from "./commands";
import { Disclosure } from "./disclosure";
import { LongMarkdown } from "./long_text";
import { Visible } from "./visible";

interface PlanProps {
  plan: Plan;
  label?: string;
  /** Shows the plan's name only, until it is opened. */
  isFolded?: boolean;
  onEdit?: (() => void) | undefined;
}

export function PlanView({ plan, label = "Plan", isFolded = false, onEdit }: PlanProps) {
  return (
    <div class="plan stack">
      <div class="row">
        <h4>{label}</h4>
        {plan.tasks.length > 0 && <span class="soft">{summary(plan)}</span>}
        {onEdit !== undefined && (
          <Button class="plan-edit" onClick={onEdit}>
            Edit
          </Button>
        )}
      </div>
      {isFolded ? (
        <Disclosure label="Show the plan">{() => <Content plan={plan} />}</Disclosure>
      ) : (
        <Content plan={plan} />
      )}
    </div>
  );
}

function Content({ plan }: { plan: Plan }) {
  return (
    <>
      <Remarks kind="bad" title="Problems that prevent it from being executed" list={plan.problems} />
      <Remarks kind="warn" title="Warnings" list={plan.warnings} />
      {(plan.title !== null || plan.goal !== null) && (
        <div>
          {plan.title !== null && (
            <p class="plan-title">
              <Visible text={plan.title} />
            </p>
          )}
          {plan.goal !== null && (
            <p>
              <Visible text={plan.goal} />
            </p>
          )}
        </div>
      )}
      <PlanTasks plan={plan} />
      {plan.phases.some((ids) => ids.length > 1) && <Phases phases={plan.phases} />}
      {plan.markdown !== null && (
        <div class="plan-text stack">
          <p class="soft">The whole plan:</p>
          <LongMarkdown text={plan.markdown} label="the plan" />
        </div>
      )}
    </>
  );
}

/** The tasks of a plan, with the commands that run after each. */
export function PlanTasks({ plan }: { plan: Plan }) {
  const commands = count(plan);
  if (plan.tasks.length === 0) return null;
  return (
    <>
      {plan.isAsked && commands > 0 && <p class="plan-allows">If you approve it, the commands below run in a shell, each after its task.</p>}
      {plan.isAsked && commands === 0 && <p class="soft">Its tasks run no commands.</p>}
      <ol role="list" class="plan-tasks" aria-label="Tasks">
        {plan.tasks.slice(0, 200).map((task) => (
          <Task key={task.id} task={task} />
        ))}
        {plan.tasks.length > 200 && <li>and {plan.tasks.length - 200} more</li>}
      </ol>
    </>
  );
}

function Task({ task }: { task: PlanTask }) {
  return (
    <li class="plan-task">
      <span class="plan-number">{task.id}</span>
      <div class="stack plan-about">
        <p class="plan-name">{task.title === "" ? `Task ${task.id}` : <Visible text={task.title} />}</p>
        {task.needs.length > 0 && <p class="soft">after {task.needs.length === 1 ? "task" : "tasks"} {task.needs.join(", ")}</p>}
        {task.files.length > 0 && (
          <p class="plan-files">
            {task.files.map((file) => (
              <code>
                <Visible text={file} />
              </code>
            ))}
          </p>
        )}
        {task.commands.length > 0 && <Commands list={task.commands} label={`Commands of task ${task.id}`} />}
      </div>
    </li>
  );
}

function Phases({ phases }: { phases: string[][] }) {
  return (
    <div>
      <p class="soft">Tasks of one phase run at the same time:</p>
      <ol class="plan-phases">
        {phases.map((ids) => (
          <li>
            {ids.length === 1 ? "task" : "tasks"} {ids.join(", ")}
          </li>
        ))}
      </ol>
    </div>
  );
}

export function Remarks({ kind, title, list }: { kind: "bad" | "warn"; title: string; list: string[] }) {
  if (list.length === 0) return null;
  return (
    <div class="note" data-kind={kind}>
      <p class="field-label">{title}</p>
      <ul>
        {list.slice(0, 50).map((text) => (
          <li>
            <Visible text={text} />
          </li>
        ))}
        {list.length > 50 && <li>and {list.length - 50} more</li>}
      </ul>
    </div>
  );
}

function summary(plan: Plan): string {
  const commands = count(plan);
  const tasks = plan.tasks.length === 1 ? "1 task" : `${plan.tasks.length} tasks`;
  return commands === 0 ? tasks : `${tasks}, ${commands === 1 ? "1 command" : `${commands} commands`}`;
}

function count(plan: Plan): number {
  return plan.tasks.reduce((sum, task) => sum + task.commands.length, 0);
}
