"""Checks a running server with the official SDK for Python (`pip install langgraph-sdk`): check.py URL

Each function whose name begins with `check_` is one claim. Prints those that fail, and exits with 1 then.
"""

import asyncio
import sys
import traceback
import uuid

from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError, NotFoundError


async def stream(events):
    return [(part.event, part.data) async for part in events]


async def check_the_server_is_described(c):
    info = await c.http.get("/info")
    assert info["flags"]["assistants"], info


async def check_each_graph_has_an_assistant(c):
    found = await c.assistants.search(limit=100, metadata={"created_by": "system"})
    names = {a["graph_id"] for a in found}
    assert {"counter", "chat_echo", "approval", "parallel", "slow", "fails", "nested"} <= names, names
    counter = [a for a in found if a["graph_id"] == "counter"][0]
    assert (counter["name"], counter["version"], counter["config"], counter["context"]) == ("counter", 1, {}, {}), counter


async def check_a_counter_counts(c):
    t = await c.threads.create()
    r = await c.runs.wait(t["thread_id"], "counter", input={"n": 1})
    assert r == {"n": 6, "trail": ["step1", "step2", "step3", "step4", "step5"]}, r
    state = await c.threads.get_state(t["thread_id"])
    assert state["values"] == r and state["next"] == [], state
    history = await c.threads.get_history(t["thread_id"], limit=10)
    assert [h["metadata"]["step"] for h in history] == [5, 4, 3, 2, 1, 0, -1], history
    run = (await c.runs.list(t["thread_id"]))[0]
    assert run["status"] == "success", run
    assert history[0]["metadata"]["run_id"] == run["run_id"], history[0]["metadata"]


async def check_values_and_updates_are_streamed_in_order(c):
    t = await c.threads.create()
    events = await stream(c.runs.stream(t["thread_id"], "counter", input={"n": 0}, stream_mode=["values", "updates"]))
    names = [name for name, _ in events]
    assert names == ["metadata", "values"] + ["updates", "values"] * 5, names
    assert events[2][1] == {"step1": {"n": 1, "trail": ["step1"]}}, events[2]
    assert events[1][1]["n"] == 0, events[1]


async def check_a_chat_streams_words(c):
    t = await c.threads.create()
    said = {"messages": [{"role": "user", "content": "one two three"}]}
    events = await stream(c.runs.stream(t["thread_id"], "chat_echo", input=said, stream_mode="messages-tuple"))
    chunks = [data for name, data in events if name == "messages"]
    text = "".join(chunk["content"] for chunk, _ in chunks)
    assert text == "echo: one two three", text
    assert [chunk["content"] for chunk, _ in chunks][:4] == ["echo:", " one", " two", " three"], chunks
    assert {chunk["type"] for chunk, _ in chunks} == {"AIMessageChunk"}, chunks
    assert {meta["langgraph_node"] for _, meta in chunks} == {"echo"}, chunks
    ids = {chunk["id"] for chunk, _ in chunks}
    state = await c.threads.get_state(t["thread_id"])
    human, ai = state["values"]["messages"]
    assert ids == {ai["id"]} and ai["type"] == "ai" and ai["content"] == text, (ids, ai)
    assert human["type"] == "human" and human["id"], human


async def check_a_chat_streams_messages_so_far(c):
    t = await c.threads.create()
    said = {"messages": "hi there"}
    events = await stream(c.runs.stream(t["thread_id"], "chat_echo", input=said, stream_mode="messages"))
    names = [name for name, _ in events]
    assert names[:3] == ["metadata", "messages/metadata", "messages/partial"], names
    last = [data for name, data in events if name == "messages/partial"][-1]
    assert last[0]["content"] == "echo: hi there" and last[0]["type"] == "ai", last


async def check_a_chat_has_a_prefix_by_context_and_by_assistant(c):
    said = {"messages": [{"type": "human", "content": "hi"}]}
    r = await c.runs.wait(None, "chat_echo", input=said, context={"prefix": "> "})
    assert r["messages"][-1]["content"] == "> hi", r
    a = await c.assistants.create("chat_echo", context={"prefix": "A: "}, name="a")
    r = await c.runs.wait(None, a["assistant_id"], input=said)
    assert r["messages"][-1]["content"] == "A: hi", r
    r = await c.runs.wait(None, "chat_echo", input=said, config={"configurable": {"prefix": "C "}})
    assert r["messages"][-1]["content"] == "C hi", r


async def check_an_approval_is_answered(c):
    t = await c.threads.create()
    r = await c.runs.wait(t["thread_id"], "approval", input={"request": "x"})
    assert r["__interrupt__"][0]["value"] == {"question": "approve?", "proposal": "do x"}, r
    thread = await c.threads.get(t["thread_id"])
    assert thread["status"] == "interrupted", thread
    assert list(thread["interrupts"].values())[0][0]["value"]["proposal"] == "do x", thread
    state = await c.threads.get_state(t["thread_id"])
    assert state["next"] == ["review"] and state["tasks"][0]["interrupts"], state
    r = await c.runs.wait(t["thread_id"], "approval", command={"resume": "yes"})
    assert (r["decision"], r["status"]) == ("yes", "approved"), r
    assert (await c.threads.get(t["thread_id"]))["status"] == "idle"


async def check_updates_show_interrupts(c):
    t = await c.threads.create()
    events = await stream(c.runs.stream(t["thread_id"], "approval", input={"request": "x"}, stream_mode="updates"))
    assert events[-1][0] == "updates" and events[-1][1]["__interrupt__"][0]["value"]["question"] == "approve?", events


async def check_parallel_results_are_in_order(c):
    r = await c.runs.wait(None, "parallel", input={"items": [3, 1, 2]})
    assert r["results"] == [9, 1, 4] and r["total"] == 14, r


async def check_custom_events(c):
    t = await c.threads.create()
    events = await stream(
        c.runs.stream(t["thread_id"], "slow", input={"steps": 3, "ms": 5}, stream_mode=["custom"]))
    assert [data for name, data in events if name == "custom"] == [{"tick": n} for n in (1, 2, 3)], events


async def check_a_failure_is_told(c):
    t = await c.threads.create()
    try:
        await c.runs.wait(t["thread_id"], "fails", input={"reason": "why"})
        raise AssertionError("no error")
    except AssertionError:
        raise
    except Exception as error:
        assert "boom: why" in str(error), error
    assert (await c.threads.get(t["thread_id"]))["status"] == "error"
    events = await stream(c.runs.stream(t["thread_id"], "fails", input={"reason": "b"}))
    assert events[-1][0] == "error" and "boom: b" in events[-1][1]["message"], events[-1]


async def check_subgraph_events_have_a_namespace(c):
    t = await c.threads.create()
    events = await stream(c.runs.stream(
        t["thread_id"], "nested", input={"path": ""}, stream_mode="updates", stream_subgraphs=True))
    names = [name.split(":")[0] for name, _ in events]
    assert names == ["metadata", "updates", "updates|child", "updates|child", "updates", "updates"], events
    r = await c.runs.wait(None, "nested", input={})
    assert r["path"] == "/first/inner_a/inner_b/last", r


async def check_runs_are_queued(c):
    t = await c.threads.create()
    first = await c.runs.create(t["thread_id"], "slow", input={"steps": 3, "ms": 30})
    second = await c.runs.create(t["thread_id"], "slow", input={"steps": 5, "ms": 1})
    assert (await c.threads.get(t["thread_id"]))["status"] == "busy"
    await c.runs.join(t["thread_id"], second["run_id"])
    for run in (first, second):
        assert (await c.runs.get(t["thread_id"], run["run_id"]))["status"] == "success"
    assert (await c.threads.get_state(t["thread_id"]))["values"]["ticks"] == 5


async def check_a_busy_thread_rejects(c):
    t = await c.threads.create()
    await c.runs.create(t["thread_id"], "slow", input={"steps": 5, "ms": 50})
    try:
        await c.runs.create(t["thread_id"], "slow", input={}, multitask_strategy="reject")
        raise AssertionError("it was not rejected")
    except ConflictError:
        pass


async def check_a_rollback_leaves_nothing(c):
    t = await c.threads.create()
    await c.runs.wait(t["thread_id"], "slow", input={"steps": 2, "ms": 1})
    before = await c.threads.get_history(t["thread_id"], limit=100)
    first = await c.runs.create(t["thread_id"], "slow", input={"steps": 1000, "ms": 10})
    for _ in range(200):
        state = await c.threads.get_state(t["thread_id"])
        if state["values"].get("ticks", 0) > 3:
            break
        await asyncio.sleep(0.01)
    r = await c.runs.wait(t["thread_id"], "slow", input={"steps": 4, "ms": 1}, multitask_strategy="rollback")
    assert r["ticks"] == 4, r
    try:
        await c.runs.get(t["thread_id"], first["run_id"])
        raise AssertionError("it is there")
    except NotFoundError:
        pass
    after = await c.threads.get_history(t["thread_id"], limit=100)
    assert [h["checkpoint_id"] for h in after[-len(before):]] == [h["checkpoint_id"] for h in before]
    assert len(after) == len(before) + 4, (len(after), len(before))


async def check_a_cancelled_run_with_rollback_is_gone(c):
    t = await c.threads.create()
    run = await c.runs.create(t["thread_id"], "slow", input={"steps": 1000, "ms": 10})
    await asyncio.sleep(0.1)
    await c.runs.cancel(t["thread_id"], run["run_id"], wait=True, action="rollback")
    thread = await c.threads.get(t["thread_id"])
    assert thread["status"] == "idle" and not thread["values"], thread
    assert await c.runs.list(t["thread_id"]) == []


async def check_a_cancelled_run_is_interrupted(c):
    t = await c.threads.create()
    run = await c.runs.create(t["thread_id"], "slow", input={"steps": 1000, "ms": 20})
    await asyncio.sleep(0.1)
    await c.runs.cancel(t["thread_id"], run["run_id"], wait=True)
    assert (await c.runs.get(t["thread_id"], run["run_id"]))["status"] == "interrupted"
    assert (await c.threads.get(t["thread_id"]))["status"] == "interrupted"


async def check_a_stream_is_resumed(c):
    t = await c.threads.create()
    run = await c.runs.create(
        t["thread_id"], "slow", input={"steps": 5, "ms": 20}, stream_mode=["custom"], stream_resumable=True)
    ids = []
    async for part in c.runs.join_stream(t["thread_id"], run["run_id"], last_event_id="-1"):
        ids.append(int(part.id))
    assert ids == list(range(1, len(ids) + 1)), ids
    rest = [int(part.id) async for part in c.runs.join_stream(t["thread_id"], run["run_id"], last_event_id="3")]
    assert rest == ids[3:], rest


async def check_states_are_changed_and_forked(c):
    t = await c.threads.create()
    await c.runs.wait(t["thread_id"], "counter", input={"n": 0})
    history = await c.threads.get_history(t["thread_id"], limit=10)
    step2 = [h for h in history if h["metadata"]["step"] == 2][0]
    await c.threads.update_state(t["thread_id"], {"n": 100}, as_node="step2", checkpoint=step2["checkpoint"])
    state = await c.threads.get_state(t["thread_id"])
    assert state["values"]["n"] == 102 and state["next"] == ["step3"], state
    r = await c.runs.wait(t["thread_id"], "counter", input=None)
    assert r["n"] == 105, r
    r = await c.runs.wait(t["thread_id"], "counter", input=None, checkpoint_id=step2["checkpoint"]["checkpoint_id"])
    assert r["n"] == 5, r


async def check_breakpoints(c):
    t = await c.threads.create()
    await c.runs.wait(t["thread_id"], "counter", input={"n": 0}, interrupt_before=["step3"])
    state = await c.threads.get_state(t["thread_id"])
    assert state["next"] == ["step3"] and state["values"]["n"] == 2, state
    r = await c.runs.wait(t["thread_id"], "counter", input=None)
    assert r["n"] == 5, r


async def check_threads_are_found(c):
    tag = str(uuid.uuid4())
    for n in range(3):
        t = await c.threads.create(metadata={"tag": tag, "n": n})
    found = await c.threads.search(metadata={"tag": tag}, limit=2)
    assert len(found) == 2, found
    assert await c.threads.count(metadata={"tag": tag}) == 3
    await c.threads.update(t["thread_id"], metadata={"more": 1})
    assert (await c.threads.get(t["thread_id"]))["metadata"] == {"tag": tag, "n": 2, "more": 1}
    await c.threads.delete(t["thread_id"])
    try:
        await c.threads.get(t["thread_id"])
        raise AssertionError("it is there")
    except NotFoundError:
        pass


async def check_a_graph_is_drawn_and_has_schemas(c):
    graph = await c.assistants.get_graph("nested_id" if False else await assistant(c, "nested"), xray=True)
    ids = {node["id"] for node in graph["nodes"]}
    assert {"__start__", "first", "last", "__end__"} <= ids and any(id.startswith("child:") for id in ids), ids
    schemas = await c.assistants.get_schemas(await assistant(c, "counter"))
    assert schemas["graph_id"] == "counter" and "n" in schemas["input_schema"]["properties"], schemas
    subgraphs = await c.assistants.get_subgraphs(await assistant(c, "nested"))
    assert list(subgraphs) == ["child"], subgraphs


async def assistant(c, graph):
    return (await c.assistants.search(graph_id=graph, limit=100))[-1]["assistant_id"]


async def check_subgraph_states(c):
    t = await c.threads.create()
    await c.runs.wait(t["thread_id"], "nested", input={"path": ""}, interrupt_before=["last"])
    state = await c.threads.get_state(t["thread_id"], subgraphs=True)
    assert state["next"] == ["last"], state


async def check_a_thread_is_copied(c):
    t = await c.threads.create()
    await c.runs.wait(t["thread_id"], "counter", input={"n": 0})
    copy = await c.threads.copy(t["thread_id"])
    history = await c.threads.get_history(copy["thread_id"], limit=20)
    assert len(history) == 7 and history[0]["values"]["n"] == 5, history


async def check_items_are_stored(c):
    space = ("a", str(uuid.uuid4()))
    await c.store.put_item(space, "k", {"x": 1})
    item = await c.store.get_item(space, "k")
    assert item["value"] == {"x": 1} and item["namespace"] == list(space), item
    found = await c.store.search_items(space, filter={"x": {"$gte": 1}})
    assert len(found["items"]) == 1, found
    assert [list(space)] == (await c.store.list_namespaces(list(space)))["namespaces"]
    await c.store.delete_item(space, "k")
    assert await c.store.get_item(space, "k") is None


async def check_crons(c):
    cron = await c.crons.create("counter", schedule="0 0 1 1 *", input={"n": 0})
    found = await c.crons.search(assistant_id=cron["assistant_id"])
    assert cron["cron_id"] in [f["cron_id"] for f in found], found
    await c.crons.delete(cron["cron_id"])


async def check_runs_in_a_batch(c):
    runs = await c.runs.create_batch([{"assistant_id": "counter", "input": {"n": n}} for n in range(2)])
    assert len(runs) == 2, runs


async def check_a_thread_stream_joins_runs(c):
    t = await c.threads.create()
    seen = []

    async def read():
        async for part in await c.threads.join_stream(t["thread_id"], stream_mode="run_modes"):
            seen.append((part.event, part.data))
            if part.event == "metadata" and part.data.get("status") == "run_done":
                return

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.2)
    await c.runs.wait(t["thread_id"], "counter", input={"n": 0})
    await asyncio.wait_for(reader, 5)
    assert any(name == "values" for name, _ in seen), seen


def transports(check):
    """Makes a check of each transport of the event protocol."""
    for transport in ("sse", "websocket"):
        async def claim(c, transport=transport):
            await check(c, transport)

        globals()[f"{check.__name__.replace('with', 'check')}_over_{transport}"] = claim
    return check


@transports
async def with_a_protocol_run_has_values_and_an_output(c, transport):
    async with c.threads.stream(assistant_id="counter", transport=transport) as stream:
        await stream.run.start(input={"n": 1})
        assert (await stream.output)["n"] == 6


@transports
async def with_a_protocol_values_come_as_they_are(c, transport):
    async with c.threads.stream(assistant_id="slow", transport=transport) as stream:
        await stream.run.start(input={"steps": 3, "ms": 50})
        ticks = [values.get("ticks") async for values in stream.values]
        assert ticks[-1] == 3 and ticks == sorted(ticks, key=lambda tick: tick or 0), ticks


@transports
async def with_a_protocol_message_grows(c, transport):
    async with c.threads.stream(assistant_id="chat_echo", transport=transport) as stream:
        await stream.run.start(input={"messages": [{"role": "user", "content": "one two"}]})
        messages = [message async for message in stream.messages]
        said = [(await message.text, message.node, (await message.output).id) for message in messages]
        state = await c.threads.get_state(stream.thread_id)
        assert said == [("echo: one two", "echo", state["values"]["messages"][-1]["id"])], said


@transports
async def with_a_protocol_question_is_answered(c, transport):
    async with c.threads.stream(assistant_id="approval", transport=transport) as stream:
        await stream.run.start(input={"request": "x"})
        while not stream.interrupted:
            await asyncio.sleep(0.01)
        assert stream.interrupts[0]["value"] == {"question": "approve?", "proposal": "do x"}, stream.interrupts
        await stream.run.respond("yes")
        assert (await stream.output)["status"] == "approved"


@transports
async def with_a_protocol_failure_is_raised(c, transport):
    async with c.threads.stream(assistant_id="fails", transport=transport) as stream:
        await stream.run.start(input={"reason": "why"})
        try:
            await stream.output
            raise AssertionError("it did not fail")
        except RuntimeError as error:
            assert "boom: why" in str(error), error


@transports
async def with_protocol_subgraphs_are_found(c, transport):
    async with c.threads.stream(assistant_id="nested", transport=transport) as stream:
        await stream.run.start(input={"path": ""})
        found = [subgraph async for subgraph in stream.subgraphs]
        assert [(subgraph.graph_name, subgraph.status) for subgraph in found] == [("child", "completed")], found


@transports
async def with_protocol_events_are_the_same_on_each_connection(c, transport):
    async with c.threads.stream(assistant_id="counter", transport=transport) as stream:
        await stream.run.start(input={"n": 0})
        await stream.output
        runs = []
        for _ in range(2):
            seen = []
            async for event in stream.events:
                if event.get("type") != "event":
                    continue
                seen.append((event["event_id"], event["seq"]))
                if event["method"] == "lifecycle" and event["params"]["data"]["event"] == "completed":
                    break
            runs.append(seen)
        assert runs[0] == runs[1] and len({seq for _, seq in runs[0]}) == len(runs[0]) > 20, runs[0]


async def check_a_protocol_command_is_refused(c):
    async with c.threads.stream(assistant_id="nope") as stream:
        try:
            await stream.run.start(input={})
            raise AssertionError("it was not refused")
        except RuntimeError as error:
            assert "invalid_argument" in str(error), error


async def main(url):
    c = get_client(url=url)
    checks = [(name, f) for name, f in globals().items() if name.startswith("check_")]
    wanted = sys.argv[2:]
    failed = 0
    for name, check in checks:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            await asyncio.wait_for(check(c), 30)
        except Exception:
            failed += 1
            print(f"FAILED {name}")
            traceback.print_exc(limit=2)
    print(f"{len(checks)} checks, {failed} failed")
    return 1 if failed else 0


sys.exit(asyncio.run(main(sys.argv[1])))
