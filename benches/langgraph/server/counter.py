"""The graphs of the load generator for LangGraph's own server: five nodes that count, and a loop that sleeps.

    python -m venv venv && venv/bin/pip install "langgraph-cli[inmem]"
    venv/bin/langgraph dev --no-browser --no-reload --port 2024 --n-jobs-per-worker 32
    cargo run --release -p superstep-server --example load -- http://127.0.0.1:2024 wait 32 10 PID
"""

import asyncio
import operator
from typing import Annotated, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class Counter(TypedDict, total=False):
    n: Annotated[int, operator.add]
    trail: Annotated[list[str], operator.add]


def step(name):
    return lambda state: {"n": 1, "trail": [name]}


names = [f"step{number}" for number in range(1, 6)]
chain = StateGraph(Counter)
for name in names:
    chain.add_node(name, step(name))
for before, after in zip([START, *names], [*names, END]):
    chain.add_edge(before, after)
graph = chain.compile()


class Slow(TypedDict, total=False):
    steps: int
    ms: int
    ticks: Annotated[int, operator.add]


async def tick(state):
    await asyncio.sleep(state.get("ms", 100) / 1000)
    get_stream_writer()({"tick": state.get("ticks", 0) + 1})
    return {"ticks": 1}


loop = StateGraph(Slow)
loop.add_node("tick", tick)
loop.add_edge(START, "tick")
loop.add_conditional_edges("tick", lambda state: "tick" if state["ticks"] < state.get("steps", 5) else END)
slow = loop.compile()
