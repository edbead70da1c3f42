// Checks a running server with the official SDK for JavaScript (`npm install @langchain/langgraph-sdk`): check.mjs URL MODULE [WORD...]
//
// MODULE is the folder of the installed package. Each entry of `checks` is one claim; with words, only those whose names contain one are
// checked. Prints those that fail, and exits with 1 then.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { collect, run, until } from "./checks.mjs";

const [url, folder, ...words] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(join(resolve(folder), "dist/index.js")).href);
const client = new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } });

async function thread(metadata) {
  return (await client.threads.create(metadata ? { metadata } : {})).thread_id;
}

async function status(call) {
  const error = await call.then(
    () => undefined,
    (error) => error,
  );
  return error?.status;
}

const approvalInput = { input: { request: "x" } };

const checks = {
  async "a run is waited for"() {
    const id = await thread();
    const values = await client.runs.wait(id, "counter", { input: { n: 1 } });
    assert.deepEqual(values, { n: 6, trail: ["step1", "step2", "step3", "step4", "step5"] });
    const state = await client.threads.getState(id);
    assert.deepEqual([state.values, state.next], [values, []]);
    const history = await client.threads.getHistory(id, { limit: 10 });
    assert.deepEqual(history.map((past) => past.metadata.step), [5, 4, 3, 2, 1, 0, -1]);
    const [run] = await client.runs.list(id);
    assert.equal(run.status, "success");
    assert.equal((await client.runs.get(id, run.run_id)).run_id, run.run_id);
  },

  async "a run without a thread is waited for"() {
    assert.equal((await client.runs.wait(null, "parallel", { input: { items: [1, 2, 3] } })).total, 14);
  },

  async "values and updates are streamed in order"() {
    const events = await collect(
      client.runs.stream(await thread(), "counter", { input: { n: 0 }, streamMode: ["values", "updates"] }),
    );
    const expected = ["metadata", "values", ...Array(5).fill(["updates", "values"]).flat()];
    assert.deepEqual(events.map((event) => event.event), expected);
    assert.deepEqual(events[2].data, { step1: { n: 1, trail: ["step1"] } });
  },

  async "the id of a run is known before its first event"() {
    let created;
    const events = client.runs.stream(await thread(), "counter", {
      input: { n: 0 },
      onRunCreated: (run) => (created = run),
    });
    const [first] = await collect(events);
    assert.equal(first.data.run_id, created.run_id);
  },

  async "a chat streams words"() {
    const id = await thread();
    const input = { messages: [{ role: "user", content: "one two three" }] };
    const events = await collect(client.runs.stream(id, "chat_echo", { input, streamMode: "messages-tuple" }));
    const chunks = events.filter((event) => event.event === "messages").map((event) => event.data[0]);
    assert.equal(chunks.map((chunk) => chunk.content).join(""), "echo: one two three");
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    const { values } = await client.threads.getState(id);
    assert.equal(values.messages.at(-1).id, chunks[0].id);
  },

  async "custom events are streamed"() {
    const events = await collect(
      client.runs.stream(await thread(), "slow", { input: { steps: 3, ms: 1 }, streamMode: "custom" }),
    );
    const ticks = events.filter((event) => event.event === "custom").map((event) => event.data.tick);
    assert.deepEqual(ticks, [1, 2, 3]);
  },

  async "events of subgraphs have their namespace"() {
    const options = { input: { path: "" }, streamMode: "updates", streamSubgraphs: true };
    const events = await collect(client.runs.stream(await thread(), "nested", options));
    const names = events.map((event) => event.event.split(":")[0]);
    assert.deepEqual(names, ["metadata", "updates", "updates|child", "updates|child", "updates", "updates"]);
  },

  async "a question is answered"() {
    const id = await thread();
    const asked = await client.runs.wait(id, "approval", approvalInput);
    const [question] = asked.__interrupt__;
    assert.deepEqual(question.value, { question: "approve?", proposal: "do x" });
    const found = await client.threads.get(id);
    assert.equal(found.status, "interrupted");
    assert.equal(Object.values(found.interrupts)[0][0].id, question.id);
    const done = await client.runs.wait(id, "approval", { command: { resume: "yes" } });
    assert.deepEqual([done.decision, done.status], ["yes", "approved"]);
  },

  async "a question is answered by its id"() {
    const id = await thread();
    const [question] = (await client.runs.wait(id, "approval", approvalInput)).__interrupt__;
    const options = { command: { resume: { [question.id]: "no" } }, streamMode: "values" };
    const events = await collect(client.runs.stream(id, "approval", options));
    assert.equal(events.at(-1).data.status, "rejected");
  },

  async "a failure is thrown where it is waited for"() {
    const id = await thread();
    const options = { input: { reason: "why" } };
    await assert.rejects(client.runs.wait(id, "fails", options), /boom: why/);
    const values = await client.runs.wait(await thread(), "fails", { ...options, raiseError: false });
    assert.equal(values.__error__.message, "boom: why");
    assert.equal((await client.threads.get(id)).status, "error");
  },

  async "errors have a status"() {
    assert.equal(await status(client.threads.get(randomUUID())), 404);
    assert.equal(await status(client.runs.create(await thread(), "nope", {})), 422);
    assert.equal(await status(client.runs.create(randomUUID(), "counter", { input: {} })), 404);
    const id = await thread();
    assert.equal(await status(client.threads.create({ threadId: id })), 409);
    await client.threads.create({ threadId: id, ifExists: "do_nothing" });
    await client.runs.create(id, "slow", { input: { steps: 5, ms: 50 } });
    assert.equal(await status(client.runs.create(id, "slow", { input: {}, multitaskStrategy: "reject" })), 409);
  },

  async "runs are queued"() {
    const id = await thread();
    const first = await client.runs.create(id, "slow", { input: { steps: 3, ms: 20 } });
    const second = await client.runs.create(id, "slow", { input: { steps: 5, ms: 1 } });
    const values = await client.runs.join(id, second.run_id);
    assert.equal(values.ticks, 5);
    assert.equal((await client.runs.get(id, first.run_id)).status, "success");
  },

  async "a run is cancelled"() {
    const id = await thread();
    const run = await client.runs.create(id, "slow", { input: { steps: 1000, ms: 20 } });
    await until(async () => (await client.runs.get(id, run.run_id)).status === "running");
    await client.runs.cancel(id, run.run_id, true);
    assert.equal((await client.runs.get(id, run.run_id)).status, "interrupted");
    assert.equal((await client.threads.get(id)).status, "interrupted");
  },

  async "a stream is joined after an event"() {
    const id = await thread();
    const options = { input: { steps: 5, ms: 20 }, streamMode: ["custom"], streamResumable: true };
    const run = await client.runs.create(id, "slow", options);
    const all = await collect(client.runs.joinStream(id, run.run_id, { lastEventId: "-1" }));
    assert.deepEqual(all.map((event) => Number(event.id)), [1, 2, 3, 4, 5, 6]);
    const rest = await collect(client.runs.joinStream(id, run.run_id, { lastEventId: "3" }));
    assert.deepEqual(rest.map((event) => event.id), ["4", "5", "6"]);
  },

  async "assistants have versions"() {
    const made = await client.assistants.create({ graphId: "chat_echo", name: "a", metadata: { tag: randomUUID() } });
    const changed = await client.assistants.update(made.assistant_id, { context: { prefix: "> " }, name: "b" });
    assert.deepEqual([changed.version, changed.name], [2, "b"]);
    const input = { messages: [{ role: "user", content: "hi" }] };
    const said = await client.runs.wait(null, made.assistant_id, { input });
    assert.equal(said.messages.at(-1).content, "> hi");
    await client.assistants.setLatest(made.assistant_id, 1);
    assert.equal((await client.assistants.get(made.assistant_id)).name, "a");
    const versions = await client.assistants.getVersions(made.assistant_id);
    assert.deepEqual(versions.map((version) => version.version), [2, 1]);
    const found = await client.assistants.search({ metadata: made.metadata });
    assert.equal(found.length, 1);
    await client.assistants.delete(made.assistant_id);
    assert.equal(await status(client.assistants.get(made.assistant_id)), 404);
  },

  async "a graph is drawn and has schemas"() {
    const [counter] = await client.assistants.search({ graphId: "counter" });
    const graph = await client.assistants.getGraph(counter.assistant_id);
    assert.ok(graph.nodes.some((node) => node.id === "step1") && graph.edges.length >= 6);
    assert.equal((await client.assistants.getSchemas(counter.assistant_id)).graph_id, "counter");
  },

  async "threads are found"() {
    const tag = randomUUID();
    const ids = [await thread({ tag }), await thread({ tag }), await thread({ tag })];
    assert.equal((await client.threads.search({ metadata: { tag }, limit: 2 })).length, 2);
    assert.equal(await client.threads.count({ metadata: { tag } }), 3);
    await client.threads.update(ids[0], { metadata: { more: 1 } });
    assert.deepEqual((await client.threads.get(ids[0])).metadata, { tag, more: 1 });
    await client.runs.wait(ids[1], "counter", { input: { n: 0 } });
    const idle = await client.threads.search({ metadata: { tag }, status: "idle", values: { n: 5 } });
    assert.deepEqual(idle.map((found) => found.thread_id), [ids[1]]);
    await client.threads.delete(ids[2]);
    assert.equal(await status(client.threads.get(ids[2])), 404);
  },

  async "a thread is copied"() {
    const id = await thread();
    await client.runs.wait(id, "counter", { input: { n: 0 } });
    const copy = await client.threads.copy(id);
    assert.equal((await client.threads.getState(copy.thread_id)).values.n, 5);
  },

  async "a state is changed and forked"() {
    const id = await thread();
    await client.runs.wait(id, "counter", { input: { n: 0 } });
    const history = await client.threads.getHistory(id, { limit: 10 });
    const step2 = history.find((past) => past.metadata.step === 2);
    await client.threads.updateState(id, { values: { n: 100 }, asNode: "step2", checkpoint: step2.checkpoint });
    assert.deepEqual((await client.threads.getState(id)).next, ["step3"]);
    assert.equal((await client.runs.wait(id, "counter", { input: null })).n, 105);
  },

  async "an answered question stays at its checkpoint"() {
    const id = await thread();
    await client.runs.wait(id, "approval", approvalInput);
    const { interrupts } = (await client.threads.getState(id)).tasks[0];
    await client.runs.wait(id, "approval", { command: { resume: "yes" } });
    const history = await client.threads.getHistory(id, { limit: 10 });
    const past = history.find((state) => state.next.includes("review"));
    assert.deepEqual(past.tasks[0].interrupts, interrupts);
    assert.deepEqual((await client.threads.getState(id, past.checkpoint)).tasks[0].interrupts, interrupts);
    assert.deepEqual((await client.threads.getState(id)).tasks, []);
  },

  async "a subgraph is read by its namespace"() {
    const id = await thread();
    await client.runs.wait(id, "nested", { input: { path: "p" } });
    const child = (await client.threads.getHistory(id, { limit: 10 })).find((state) => state.next.includes("child"));
    const { checkpoint } = child.tasks[0];
    const history = await client.threads.getHistory(id, { limit: 10, checkpoint });
    assert.deepEqual(history.map((state) => state.next), [[], ["inner_b"], ["inner_a"], ["__start__"]]);
    assert.deepEqual(history.map((state) => state.metadata.step), [2, 1, 0, -1]);
    assert.deepEqual(history[1].parent_checkpoint, history[2].checkpoint);
    assert.deepEqual(await client.threads.getHistory(id, { limit: 10, checkpoint: history[2].checkpoint }), [history[2]]);
    const state = await client.threads.getState(id, history[1].checkpoint);
    assert.deepEqual([state.values, state.checkpoint], [history[1].values, history[1].checkpoint]);
    assert.deepEqual((await client.threads.getState(id, checkpoint)).values, history[0].values);
  },

  async "a subgraph first sends the values that it starts with"() {
    const options = { input: { path: "p" }, streamMode: "values", streamSubgraphs: true };
    const events = await collect(client.runs.stream(await thread(), "nested", options));
    const inside = events.filter((event) => event.event.startsWith("values|child:")).map((event) => event.data.path);
    assert.deepEqual(inside, ["p/first", "p/first/inner_a", "p/first/inner_a/inner_b"]);
  },

  async "items are stored"() {
    const space = ["js", randomUUID()];
    await client.store.putItem(space, "k", { x: 1 });
    assert.deepEqual((await client.store.getItem(space, "k")).value, { x: 1 });
    assert.equal((await client.store.searchItems(space, { filter: { x: 1 } })).items.length, 1);
    assert.deepEqual((await client.store.listNamespaces({ prefix: space })).namespaces, [space]);
    await client.store.deleteItem(space, "k");
    assert.equal(await client.store.getItem(space, "k"), null);
  },

  async "crons are made and removed"() {
    const cron = await client.crons.create("counter", { schedule: "0 0 1 1 *", input: { n: 0 } });
    const found = await client.crons.search({ assistantId: cron.assistant_id });
    assert.ok(found.some((each) => each.cron_id === cron.cron_id));
    await client.crons.delete(cron.cron_id);
  },
};

// The event protocol: 2.0.0 of the SDK does not have it.
const protocol = (transport) => ({
  async [`a run has values and an output (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "counter", transport });
    await stream.run.start({ input: { n: 1 } });
    assert.equal((await stream.output).n, 6);
    const values = await collect(stream.values);
    assert.deepEqual(values.map((value) => value.n), [1, 2, 3, 4, 5, 6]);
    await stream.close();
  },

  async [`a message grows word by word (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "chat_echo", transport });
    const messages = stream.messages;
    await stream.run.start({ input: { messages: [{ role: "user", content: "one two" }] } });
    const said = [];
    for await (const message of messages) {
      said.push(await collect(message.text));
      assert.equal(await message.text, "echo: one two");
      assert.deepEqual((await message.output).content, [{ type: "text", text: "echo: one two" }]);
    }
    assert.deepEqual(said, [["echo:", " one", " two"]]);
    await stream.close();
  },

  async [`a question is asked and answered (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "approval", transport });
    await stream.run.start(approvalInput);
    await until(() => stream.interrupted);
    const [{ interruptId, payload, namespace }] = stream.interrupts;
    assert.deepEqual([payload, namespace], [{ question: "approve?", proposal: "do x" }, []]);
    await stream.input.respond({ interrupt_id: interruptId, namespace, response: "yes" });
    const state = await until(async () => {
      const state = await client.threads.getState(stream.threadId);
      return state.values.status && state;
    });
    assert.equal(state.values.status, "approved");
    await stream.close();
  },

  async [`subgraphs are found (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "nested", transport });
    const subgraphs = stream.subgraphs;
    await stream.run.start({ input: { path: "" } });
    const found = [];
    for await (const subgraph of subgraphs) found.push(subgraph);
    assert.deepEqual(found.map((each) => each.name), ["child"]);
    const inner = [];
    for await (const value of found[0].values) {
      inner.push(value.path);
      if (value.path.endsWith("/inner_b")) break;
    }
    assert.deepEqual(inner.slice(-2), ["/first/inner_a", "/first/inner_a/inner_b"]);
    await stream.close();
  },

  async [`events of one graph are asked for (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "nested", transport });
    const lifecycle = await stream.subscribe({ channels: ["lifecycle"], namespaces: [[]], depth: 0 });
    await stream.run.start({ input: { path: "" } });
    const events = (await collect(lifecycle)).map((event) => event.params.data.event);
    assert.deepEqual(events, ["running", "completed"]);
    await stream.close();
  },

  async [`custom events have a channel (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "slow", transport });
    const custom = await stream.subscribe({ channels: ["custom"] }); // the thread is not there yet
    await stream.run.start({ input: { steps: 2, ms: 1 } });
    const ticks = [];
    for await (const event of custom) {
      ticks.push(event.params.data.payload.tick);
      if (ticks.length === 2) break;
    }
    assert.deepEqual(ticks, [1, 2]);
    await stream.close();
  },

  async [`a command that does not fit is refused (${transport})`]() {
    const stream = client.threads.stream({ assistantId: "nope", transport });
    await assert.rejects(stream.run.start({ input: {} }), (error) => error.code === "invalid_argument");
    await assert.rejects(
      stream.input.respond({ interrupt_id: "a", namespace: [], response: 1 }),
      (error) => error.code === "no_such_run",
    );
    await stream.close();
  },
});

if (typeof client.threads.stream === "function") Object.assign(checks, protocol("sse"));
if (typeof client.threads.stream === "function" && typeof WebSocket === "function") Object.assign(checks, protocol("websocket"));
if (typeof WebSocket !== "function") console.log("skipped: WebSockets, which this node has only with --experimental-websocket");

// What the hooks of front ends are made of.
if (typeof client.threads.stream === "function") {
  const { StreamController } = await import(pathToFileURL(join(resolve(folder), "dist/stream/index.js")).href);
  const said = (controller) => controller.rootStore.getSnapshot().messages.map((message) => message.text);
  const say = (content) => ({ messages: [{ type: "human", content }] });

  checks["a front end keeps a conversation over turns and a reload"] = async () => {
    const threadId = await thread();
    const controller = new StreamController({ client, assistantId: "chat_echo", threadId });
    await controller.hydrationPromise;
    await controller.submit(say("one"));
    await controller.submit(say("two"));
    const expected = ["one", "echo: one", "two", "echo: two"];
    await until(() => said(controller).length === 4 && !controller.rootStore.getSnapshot().isLoading);
    assert.deepEqual(said(controller), expected);
    const reloaded = new StreamController({ client, assistantId: "chat_echo", threadId });
    await reloaded.hydrationPromise;
    assert.deepEqual(said(reloaded), expected);
    await reloaded.submit(say("three"));
    await until(() => said(reloaded).length === 6 && !reloaded.rootStore.getSnapshot().isLoading);
    assert.deepEqual(said(reloaded), [...expected, "three", "echo: three"]);
    await Promise.all([controller.dispose(), reloaded.dispose()]);
  };

  checks["a front end answers a question"] = async () => {
    const controller = new StreamController({ client, assistantId: "approval" });
    await controller.submit({ request: "x" });
    const [asked] = await until(() => {
      const { interrupts } = controller.rootStore.getSnapshot();
      return interrupts.length && interrupts;
    });
    assert.deepEqual(asked.value, { question: "approve?", proposal: "do x" });
    await controller.respond("yes");
    await until(() => controller.rootStore.getSnapshot().values.status === "approved");
    assert.deepEqual(controller.rootStore.getSnapshot().interrupts, []);
    await controller.dispose();
  };
}

await run(checks, words, "checks");
