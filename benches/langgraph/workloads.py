"""The same workloads on LangGraph, one line per figure: what, CPU and wall microseconds per unit (medians).

    python -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python workloads.py [W1 W4 ...]

`PG [NODES]` measures threads in PostgreSQL, at the address in the variable POSTGRES; `cargo bench` starts it with a server.
"""

import operator
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt


class Tally(TypedDict):
    count: Annotated[int, operator.add]


class Pages(TypedDict):
    count: Annotated[int, operator.add]
    width: int


class Talk(TypedDict):
    messages: Annotated[list[str], operator.add]


class Count(TypedDict):
    n: int


def one(_):
    return {"count": 1}


def chain(nodes):
    graph = StateGraph(Tally).add_edge(START, "n0")
    for nth in range(nodes):
        graph.add_node(f"n{nth}", one)
        graph.add_edge(f"n{nth}", f"n{nth + 1}" if nth + 1 < nodes else END)
    return graph


def two_node_loop(rounds):
    graph = StateGraph(Tally).add_node("ping", one).add_node("pong", one)
    graph.add_edge(START, "ping").add_edge("ping", "pong")
    again = lambda tally: "ping" if tally["count"] < 2 * rounds else END
    return graph.add_conditional_edges("pong", again, ["ping", END])


def fan_out():
    graph = StateGraph(Pages).add_node("split", lambda _: {}).add_node("fetch", lambda page: {"count": page["page"]})
    graph.add_node("sum", one).add_edge(START, "split").add_edge("fetch", "sum").add_edge("sum", END)
    sends = lambda pages: [Send("fetch", {"page": nth}) for nth in range(pages["width"])]
    return graph.add_conditional_edges("split", sends, ["fetch"])


def talk():
    reply = lambda state: {"messages": [f"{len(state['messages']):06d}" + "m" * 1018]}
    return StateGraph(Talk).add_node("reply", reply).add_edge(START, "reply").add_edge("reply", END)


def approval():
    bump = lambda state: {"n": state["n"] + 1}
    ask = lambda state: {"n": state["n"] + (10 if interrupt({"n": state["n"]}) else 0)}
    graph = StateGraph(Count).add_node("draft", bump).add_node("ask", ask).add_node("publish", bump)
    return graph.add_edge(START, "draft").add_edge("draft", "ask").add_edge("ask", "publish").add_edge("publish", END)


def thread(name):
    return {"configurable": {"thread_id": str(name)}, "recursion_limit": 10**9}


def sqlite(folder):
    return SqliteSaver(sqlite3.connect(os.path.join(folder, "db"), check_same_thread=False))


def timed(run):
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    run()
    return (time.process_time_ns() - cpu) / 1000, (time.perf_counter_ns() - wall) / 1000


def show(workload, what, samples, units=1, beside=""):
    cpu, wall = (statistics.median(sample[at] for sample in samples) / units for at in (0, 1))
    print(f"{workload:<6} {what:<46} {cpu:>12.1f} us cpu {wall:>12.1f} us wall  {beside}".rstrip(), flush=True)


def disk(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


def w1():
    for nodes in (10, 100, 1000):
        graph = chain(nodes).compile()
        samples = [timed(lambda: graph.invoke({"count": 0}, thread(0))) for _ in range(9)]
        show("W1", f"chain of {nodes}, per superstep", samples, nodes)


def w2():
    for nodes in (10, 100):
        graph = chain(nodes).compile(checkpointer=InMemorySaver())
        samples = [timed(lambda: graph.invoke({"count": 0}, thread(nth))) for nth in range(9)]
        show("W2", f"chain of {nodes}, memory, per superstep", samples, nodes)
    for nodes in (10, 100):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            graph = chain(nodes).compile(checkpointer=sqlite(folder))
            run = lambda nth: graph.invoke({"count": 0}, thread(nth), durability="sync")
            show("W2", f"chain of {nodes}, durable sync, per superstep", [timed(lambda: run(nth)) for nth in range(9)], nodes)


def w3():
    graph = two_node_loop(1000).compile()
    show("W3", "two-node loop, 1000 rounds, per superstep", [timed(lambda: graph.invoke({"count": 0}, thread(0))) for _ in range(5)], 2000)


def w4():
    for width in (10, 100, 1000):
        graph = fan_out().compile()
        samples = [timed(lambda: graph.invoke({"count": 0, "width": width}, thread(0))) for _ in range(9)]
        show("W4", f"fan-out {width}, per worker", samples, width)


def w6(turns=1000):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        saver = sqlite(folder)
        graph = talk().compile(checkpointer=saver)
        run = lambda: graph.invoke({"messages": []}, thread("talk"), durability="sync")
        samples = [timed(run) for _ in range(turns)]
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        show("W6", "append 1 KB, an invoke a turn, turn 10", samples[4:15])
        size = f"disk {disk(folder) / 1e6:.0f} MB, {disk(folder) / turns / 1024:.0f}x appended"
        show("W6", f"append 1 KB, an invoke a turn, turn {turns}", samples[-11:], beside=size)


def w7(threads=51):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        graph = approval().compile(checkpointer=sqlite(folder))
        for nth in range(threads):
            graph.invoke({"n": 0}, thread(nth), durability="sync")
        resume = lambda nth: graph.invoke(Command(resume=True), thread(nth), durability="sync")
        show("W7", "load, resume, finish on an open store", [timed(lambda: resume(nth)) for nth in range(threads)])


def pg(nodes=100):
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(os.environ["POSTGRES"]) as saver:
        saver.setup()
        graph = chain(nodes).compile(checkpointer=saver)
        run = lambda nth: graph.invoke({"count": 0}, thread(nth), durability="sync")
        samples = [timed(lambda: run(nth)) for nth in range(9)]
        show("PG", f"chain of {nodes}, PostgresSaver, durable sync, per superstep", samples, nodes)


def w9():
    samples, sizes = [], []
    for _ in range(5):
        began = time.perf_counter_ns()
        child = subprocess.Popen([sys.executable, __file__, "--first-node"], stdout=subprocess.PIPE, text=True)
        sizes.append(int(child.stdout.readline()) / 1024)
        samples.append((0, (time.perf_counter_ns() - began) / 1000))
        child.wait()
    show("W9", "process start to first node", samples, beside=f"{statistics.median(sizes):.0f} MB resident")


def first_node():
    def first(_):
        with open("/proc/self/status") as status:
            print(next(line.split()[1] for line in status if line.startswith("VmRSS")), flush=True)
        return {"count": 1}

    StateGraph(Tally).add_node("first", first).add_edge(START, "first").compile().invoke({"count": 0})


def main():
    words = sys.argv[1:]
    nodes = int(words.pop()) if words and words[-1].isdigit() else 100
    chosen = [word.lower() for word in words] or ["w1", "w2", "w3", "w4", "w6", "w7", "w9"]
    if chosen == ["--first-node"]:
        return first_node()
    print("$ python " + " ".join([os.path.basename(__file__), *sys.argv[1:]]))
    print(f"langgraph {version('langgraph')}, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.2f}", flush=True)
    for name in chosen:
        pg(nodes) if name == "pg" else globals()[name]()
    print(f"load at the end {os.getloadavg()[0]:.2f}")


main()
