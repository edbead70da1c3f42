// A real server for the page: a program that is started, killed and started again on the same store.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = new URL("../../../", import.meta.url).pathname;
export const PROGRAM = process.env["SUPERSTEP_PAGE_SERVER"] ?? join(ROOT, "target/debug/examples/agent_server");

/** A program whose graphs spend, and ask about plans, changes and findings. */
export const PAGE_PROGRAM = join(dirname(PROGRAM), "page_server");

export interface ServerChoice {
  program?: string;
  args?: string[];
  /** The directory in which it runs; a new one, unless named. */
  folder?: string;
}

export class TestServer {
  private process: ChildProcess | undefined;
  address = "";
  readonly folder: string;
  private port = "0";

  constructor(private readonly choice: ServerChoice = {}) {
    this.folder = choice.folder ?? mkdtempSync(join(tmpdir(), "superstep-page-"));
  }

  /** Starts it, again at the same address, and waits until it listens. */
  async start(): Promise<this> {
    const args = ["--store", join(this.folder, "store"), "serve", "--listen", `127.0.0.1:${this.port}`, ...(this.choice.args ?? [])];
    const child = spawn(this.choice.program ?? PROGRAM, args, { cwd: this.folder, stdio: ["ignore", "pipe", "inherit"] });
    this.process = child;
    for await (const line of createInterface({ input: child.stdout })) {
      const [, listening] = /^listening on (\S+)$/.exec(line) ?? [];
      if (listening === undefined) continue;
      this.address = listening;
      this.port = new URL(listening).port;
      return this;
    }
    throw new Error("the server has ended before it listened");
  }

  /** Kills it without a warning. */
  async kill(): Promise<void> {
    const child = this.process;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Sends a request, and returns its JSON. */
  async send<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method, headers: { "content-type": "application/json" } };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(this.address + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  /** Runs a graph in a thread until it stops. */
  run(thread: string, graph: string, input: unknown): Promise<unknown> {
    return this.send("POST", `/threads/${encodeURIComponent(thread)}/runs/wait`, { assistant_id: graph, if_not_exists: "create", input });
  }
}
