// Threads of the agent workflows for the page: a repository of their own, plans and scripted agents, whose turns are in files.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { PROGRAM, TestServer } from "./server";

const EXAMPLES = new URL("../../../examples/", import.meta.url).pathname;
/** The program with the agent workflows and the server. */
const WORKFLOWS = join(dirname(PROGRAM), "../superstep");

export const PLAN = join(EXAMPLES, "tasks/plan.md");
export const PHASES = join(EXAMPLES, "phases/plan.md");
export const SCENARIO = join(EXAMPLES, "tasks/scenario.yaml");
export const TASK = join(EXAMPLES, "code-task/task.md");
export const VERIFIERS = join(EXAMPLES, "code-task/verifiers.yml");
export const TASK_SCENARIO = join(EXAMPLES, "code-task/scenario.yaml");

/** The reviewer never accepts the first task. */
const REJECTING = `turns:
  - role: developer
    times: always
    steps:
      - write: {path: tides.sh, content: "cat tides.txt\\n"}
      - usage: {input: 900, output: 120, cost: 0.004}
    submit: {status: done, summary: tides.sh prints the table.}
  - role: reviewer
    task: 1
    times: always
    steps:
      - usage: {input: 700, output: 80, cost: 0.002}
    submit:
      approved: false
      severity: major
      comments:
        - {severity: major, file: tides.sh, line: 1, issue: "From another folder <b>tides.txt</b> is not found.", fix: Look beside the script.}
  - role: reviewer
    times: always
    submit: {approved: true, severity: none, summary: It does what the task says.}
`;

/** The developer has a question first. */
const ASKING = `turns:
  - role: developer
    task: 1
    attempt: 1
    steps:
      - usage: {input: 900, output: 20, cost: 0.001}
    submit: {status: blocked, summary: I cannot go on., question: "Which *zone* are the times in?"}
  - role: developer
    times: always
    contains: The times are in UTC
    steps:
      - write: {path: tides.sh, content: "cat \\"$(dirname \\"$0\\")/tides.txt\\"\n"}
      - usage: {input: 900, output: 120, cost: 0.004}
    submit: {status: done, summary: tides.sh prints the table.}
`;

/** The loops of two scripts have no end, in all attempts. */
const ENDLESS = `turns:
  - role: developer
    times: always
    steps:
      - write: {path: print.sh, content: "while read -r day kind time; do\n  echo \\"$time\\"\n"}
      - usage: {input: 900, output: 120, cost: 0.004}
    submit: {status: done, summary: The script is there.}
`;

const ENDLESS_TASK = `---
id: tide-scripts
title: A script that prints the tides
acceptance:
  - print.sh prints the tides of a day
policy:
  max_attempts: 1
  max_depth: 0
---

Write print.sh.
`;

interface Started {
  graph?: "tasks" | "phases" | "code-task";
  plan?: string;
  /** The file of the scenario. */
  scenario?: string;
  input?: Record<string, unknown>;
}

export class Workflows {
  readonly server = new TestServer({ program: WORKFLOWS });

  async start(): Promise<this> {
    this.write("rejecting.yaml", REJECTING);
    // One agent of the second phase needs time.
    this.write("slow.yaml", readFileSync(join(EXAMPLES, "phases/scenario.yaml"), "utf8").replace("wait: 400ms", "wait: 60s"));
    this.write("asking.yaml", ASKING);
    this.write("endless.yaml", ENDLESS);
    this.write("endless.md", ENDLESS_TASK);
    this.write("budget.toml", "[budget]\ncost = 0.005\n");
    await this.server.start();
    return this;
  }

  write(name: string, text: string): string {
    const path = join(this.server.folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  path(name: string): string {
    return join(this.server.folder, name);
  }

  /** Runs a workflow in a new repository until it stops. */
  async run(thread: string, started: Started = {}): Promise<void> {
    await this.server.run(thread, started.graph ?? "tasks", this.input(thread, started));
  }

  private input(thread: string, { plan = PLAN, scenario = SCENARIO, input = {}, graph }: Started): Record<string, unknown> {
    const folder = this.path(thread);
    execFileSync("sh", [join(EXAMPLES, "tasks/repository.sh"), folder], { stdio: "ignore" });
    return { ...(graph === "code-task" ? {} : { plan }), driver: `scripted:${scenario}`, dir: folder, ...input };
  }

  /** Answers the only question of a thread, and waits until it stops again. */
  async answer(thread: string, graph: string, answer: unknown): Promise<void> {
    const { items } = await this.server.send<{ items: { question: { id: string } }[] }>("GET", `/threads/${thread}/inbox`);
    await this.server.send("POST", `/threads/${thread}/runs/wait`, { assistant_id: graph, command: { resume: { [items[0]?.question.id ?? ""]: answer } } });
  }

  async values(thread: string): Promise<Record<string, unknown>> {
    const { values } = await this.server.send<{ values: Record<string, unknown> }>("GET", `/threads/${thread}/state`);
    return values;
  }

  /** Writes a file of the run and returns its path; the server is started again, as the command needs the store for itself. */
  async file(thread: string): Promise<string> {
    const path = this.path(`${thread}.html`);
    await this.server.kill();
    execFileSync(WORKFLOWS, ["--store", this.path("store"), "export", thread, "--html", path], { cwd: this.server.folder });
    await this.server.start();
    return path;
  }

  git(thread: string, ...words: string[]): string {
    return execFileSync("git", ["-C", this.path(thread), ...words], { encoding: "utf8" });
  }
}
