// Checks a running server with the calls that front ends make by the official SDK for JavaScript: front_ends.mjs URL MODULE
//
// MODULE is the folder of the installed package. Each entry of `checks` is what one front end does, in its order: `useStream` of
// `@langchain/langgraph-sdk/react`, and the Agent Chat UI over it. Prints those that fail, and exits with 1 then.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { collect, run, until } from "./checks.mjs";

const [url, folder] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(join(resolve(folder), "dist/index.js")).href);
const client = new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } });

// What `useStream` adds to what its caller asks for.
const modes = ["values", "messages-tuple", "custom"];
const resumable = { streamMode: modes, streamSubgraphs: true, streamResumable: true, onDisconnect: "continue" };

const human = (content) => ({ id: randomUUID(), type: "human", content });
const last = (events, name) => events.filter((event) => event.event === name).at(-1)?.data;

const checks = {
  async "the Agent Chat UI starts, and lists the threads of its graph"() {
    assert.ok((await fetch(`${url}/info`)).ok);
    const id = randomUUID();
    await client.threads.create({ threadId: id, metadata: {} });
    const run = { input: { messages: [human("hello there")] }, ...resumable };
    await collect(client.runs.stream(id, "chat_echo", run));
    const assistants = await client.assistants.search({ graphId: "chat_echo", limit: 100 });
    const assistant = assistants.find((found) => found.metadata.created_by === "system"); // others may have more
    for (const metadata of [{ graph_id: "chat_echo" }, { assistant_id: assistant.assistant_id }]) {
      const found = await client.threads.search({ metadata, limit: 100 });
      const shown = found.find((thread) => thread.thread_id === id);
      assert.equal(shown?.values.messages[0].content, "hello there");
    }
  },

  async "a message is streamed in three modes, and is in the history"() {
    const { thread_id: id } = await client.threads.create({ metadata: { user: "ann" } });
    let created;
    const run = { input: { messages: [human("one two")] }, ...resumable, onRunCreated: (made) => (created = made) };
    const events = await collect(client.runs.stream(id, "chat_echo", run));
    assert.deepEqual([created.thread_id, events[0].data.run_id], [id, created.run_id]);
    assert.ok(events.every((event) => event.id !== undefined));
    const chunks = events.filter((event) => event.event === "messages").map((event) => event.data[0]);
    const said = last(events, "values").messages;
    assert.equal(chunks.map((chunk) => chunk.content).join(""), "echo: one two");
    assert.equal(said.at(-1).id, chunks[0].id);
    const [head, ...past] = await client.threads.getHistory(id, { limit: 1000 });
    assert.deepEqual(head.values.messages, said);
    assert.equal(head.parent_checkpoint.checkpoint_id, past[0].checkpoint.checkpoint_id);
    assert.deepEqual((await client.threads.getState(id)).values.messages, said);
  },

  async "a content of blocks is kept"() {
    const content = [
      { type: "text", text: "what is this?" },
      { type: "image", source_type: "base64", mime_type: "image/png", data: "AAAA", metadata: { name: "a.png" } },
    ];
    const { thread_id: id } = await client.threads.create();
    const events = await collect(client.runs.stream(id, "chat_echo", { input: { messages: [human(content)] }, ...resumable }));
    assert.deepEqual(last(events, "values").messages[0].content, content);
  },

  async "a page that was reloaded joins its run"() {
    const { thread_id: id } = await client.threads.create();
    const left = new AbortController();
    let created;
    const run = { input: { steps: 20, ms: 20 }, ...resumable, signal: left.signal, onRunCreated: (made) => (created = made) };
    try {
      for await (const event of client.runs.stream(id, "slow", run)) {
        if (event.event === "custom" && event.data.tick === 3) left.abort();
      }
    } catch (error) {
      assert.ok(left.signal.aborted, error);
    }
    const joined = await collect(client.runs.joinStream(id, created.run_id, { lastEventId: "-1", streamMode: modes }));
    const ticks = joined.filter((event) => event.event === "custom").map((event) => event.data.tick);
    assert.deepEqual(ticks, [...Array(20).keys()].map((tick) => tick + 1));
    assert.equal(last(joined, "values").ticks, 20);
    assert.deepEqual(joined.map((event) => Number(event.id)), joined.map((_, at) => at + 2)); // the first is that of the run itself, and of no mode
  },

  async "a page that was left stops its run, unless it can be resumed"() {
    const { thread_id: id } = await client.threads.create();
    const left = new AbortController();
    const run = { input: { steps: 1000, ms: 20 }, streamMode: modes, onDisconnect: "cancel", signal: left.signal };
    try {
      for await (const event of client.runs.stream(id, "slow", run)) if (event.event === "custom") left.abort();
    } catch (error) {
      assert.ok(left.signal.aborted, error);
    }
    await until(async () => (await client.runs.list(id))[0].status === "interrupted");
  },

  async "messages that are sent meanwhile are queued, and one is taken back"() {
    const { thread_id: id } = await client.threads.create();
    const slow = { input: { steps: 20, ms: 20 }, ...resumable, multitaskStrategy: "enqueue" };
    const first = await client.runs.create(id, "slow", slow);
    const second = await client.runs.create(id, "slow", slow);
    await client.runs.cancel(id, second.run_id);
    await client.runs.join(id, first.run_id);
    const ended = await until(async () => {
      const runs = await client.runs.list(id);
      return runs.every((run) => !["pending", "running"].includes(run.status)) && runs;
    });
    assert.deepEqual(ended.map((run) => run.status), ["interrupted", "success"]);
  },

  async "an interrupt is shown and resumed"() {
    const { thread_id: id } = await client.threads.create();
    const events = await collect(client.runs.stream(id, "approval", { input: { request: "x" }, ...resumable }));
    const [asked] = last(events, "values").__interrupt__;
    const [head] = await client.threads.getHistory(id, { limit: 1000 });
    assert.deepEqual(head.tasks.at(-1).interrupts[0].value, asked.value);
    assert.equal((await client.threads.search({ ids: [id], status: "interrupted" })).length, 1);
    const answer = { input: {}, command: { resume: "yes" }, ...resumable };
    assert.equal(last(await collect(client.runs.stream(id, "approval", answer)), "values").status, "approved");
  },

  async "an interrupt is marked as resolved"() {
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, "approval", { input: { request: "x" } });
    await collect(client.runs.stream(id, "approval", { input: {}, command: { goto: "__end__" }, ...resumable }));
    // As in the reference, the question stays: only an answer ends it.
    assert.equal((await client.threads.get(id)).status, "interrupted");
  },

  async "an answer is made again from the checkpoint before it"() {
    const { thread_id: id } = await client.threads.create();
    await collect(client.runs.stream(id, "chat_echo", { input: { messages: [human("one")] }, ...resumable }));
    const history = await client.threads.getHistory(id, { limit: 1000 });
    const before = history.find((past) => past.next.includes("echo"));
    const events = await collect(client.runs.stream(id, "chat_echo", { input: null, checkpoint: before.checkpoint, ...resumable }));
    assert.deepEqual(last(events, "values").messages.map((message) => message.content), ["one", "echo: one"]);
    const branches = (await client.threads.getHistory(id, { limit: 1000 })).filter(
      (past) => past.parent_checkpoint?.checkpoint_id === before.checkpoint.checkpoint_id,
    );
    assert.equal(branches.length, 2);
  },

  async "a message is edited from the checkpoint before it"() {
    const { thread_id: id } = await client.threads.create();
    await collect(client.runs.stream(id, "chat_echo", { input: { messages: [human("one")] }, ...resumable }));
    const [{ checkpoint }] = await client.threads.getHistory(id, { limit: 1 });
    const sent = human("two");
    await collect(client.runs.stream(id, "chat_echo", { input: { messages: [sent] }, ...resumable }));
    const edited = { input: { messages: [{ ...sent, content: "three" }] }, checkpoint, ...resumable };
    const events = await collect(client.runs.stream(id, "chat_echo", edited));
    const said = last(events, "values").messages.map((message) => message.content);
    assert.deepEqual(said, ["one", "echo: one", "three", "echo: three"]);
  },
};

await run(checks, [], "checks of front ends");
