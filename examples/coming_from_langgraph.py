"""The agent of docs/coming-from-langgraph.md in LangGraph 1.2.22; coming_from_langgraph.rs is the same in superstep.

    pip install langgraph==1.2.22 langgraph-checkpoint-sqlite
    python coming_from_langgraph.py ask       # runs until a person has to decide
    python coming_from_langgraph.py yes       # another process: answers, goes on
    python coming_from_langgraph.py publish   # another process: the embargo is over
    python coming_from_langgraph.py look      # the past, a fork, the graph
"""

import operator
import sys
import time
from typing import Annotated, Literal, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt


# <model>
def ask_model(prompt: str) -> str:
    """Stands for a model: a real one is slow, costs money and answers differently each time."""
    return "causes, history" if prompt.startswith("Two aspects") else f"An essay. {prompt}"


def search_web(query: str) -> str:
    return f"a page on {query}"
# </model>


# <state>
class Research(TypedDict, total=False):
    topic: str
    queries: list[str]
    findings: Annotated[list[str], operator.add]
    rounds: Annotated[int, operator.add]
    draft: str
    approved: bool
    url: str
# </state>


# <plan>
def plan(state: Research) -> dict:
    text = ask_model(f"Two aspects of {state['topic']}, round {state.get('rounds', 0) + 1}")
    return {"queries": [f"{aspect} of {state['topic']}" for aspect in text.split(", ")], "rounds": 1}
# </plan>


# <search>
def search(query: str) -> dict:
    get_stream_writer()({"searching": query})
    return {"findings": [search_web(query)]}


def fan_out(state: Research) -> list[Send]:
    return [Send("search", query) for query in state["queries"]]
# </search>


# <judge>
def judge(state: Research) -> dict:
    return {}


def after_judge(state: Research) -> Literal["plan", "write"]:
    return "plan" if len(state["findings"]) < 4 else "write"
# </judge>


# <review>
def write(state: Research) -> dict:
    return {"draft": ask_model(f"Sources: {', '.join(state['findings'])}.")}


def review(state: Research) -> dict:
    approved = interrupt({"draft": state["draft"]})  # runs again from its beginning when answered
    return {"approved": approved}


def after_review(state: Research) -> Literal["embargo", "__end__"]:
    return "embargo" if state["approved"] else END
# </review>


# <embargo>
def embargo(state: Research) -> dict:
    interrupt({"until": time.time() + 3600})  # a scheduler of your own finds this, and resumes in time
    return {}
# </embargo>


# <publish>
class Post(TypedDict, total=False):
    text: str
    title: str
    url: str


def make_title(post: Post) -> dict:
    return {"title": post["text"].split(".")[0]}


def upload(post: Post) -> dict:
    return {"url": f"https://example.org/{post['title'].lower().replace(' ', '-')}"}


publisher = (
    StateGraph(Post)
    .add_node(make_title)
    .add_node(upload)
    .add_edge(START, "make_title")
    .add_edge("make_title", "upload")
    .compile()
)


def publish(state: Research) -> dict:
    post = publisher.invoke({"text": state["draft"]})
    return {"url": post["url"]}
# </publish>


# <graph>
builder = StateGraph(Research)
builder.add_node("plan", plan)
builder.add_node("search", search, retry_policy=RetryPolicy(max_attempts=5))
builder.add_node("judge", judge)
builder.add_node("write", write)
builder.add_node("review", review)
builder.add_node("embargo", embargo)
builder.add_node("publish", publish)
builder.add_edge(START, "plan")
builder.add_conditional_edges("plan", fan_out, ["search"])
builder.add_edge("search", "judge")
builder.add_conditional_edges("judge", after_judge)
builder.add_edge("write", "review")
builder.add_conditional_edges("review", after_review)
builder.add_edge("embargo", "publish")
# </graph>


def ask(graph, config):
    # <ask>
    for mode, chunk in graph.stream({"topic": "tides"}, config, stream_mode=["updates", "custom"]):
        print(mode, chunk)
    # </ask>


def answer(graph, config, word):
    # <answer>
    for question in graph.get_state(config).interrupts:
        print("asked:", question.value)
    result = graph.invoke(Command(resume=word == "yes"), config)
    # </answer>
    print(result.get("__interrupt__", result))


def go_on(graph, config):
    # <go_on>
    result = graph.invoke(Command(resume=True), config)  # whatever the time is
    # </go_on>
    print(result.get("__interrupt__", result.get("url")))


def look(graph, config):
    # <look>
    state = graph.get_state(config)
    print(state.next, state.values["rounds"])
    for step in graph.get_state_history(config, limit=3):
        print(step.metadata["step"], step.metadata["source"], step.next)
    # </look>

    # <fork>
    before = next(step for step in graph.get_state_history(config) if step.next == ("write",))
    fork = graph.update_state(before.config, {"findings": ["a sailor's letter"]})
    result = graph.invoke(None, fork)  # the nodes after it run again, for real
    # </fork>
    print("asks again:", result["__interrupt__"][0].value["draft"])

    # <draw>
    print(graph.get_graph().draw_mermaid())
    # </draw>


def main():
    word = sys.argv[1]
    # <open>
    with SqliteSaver.from_conn_string("research.sqlite") as saver:
        graph = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "tides-1"}}
        # </open>
        match word:
            case "ask":
                ask(graph, config)
            case "yes" | "no":
                answer(graph, config, word)
            case "publish":
                go_on(graph, config)
            case "look":
                look(graph, config)


if __name__ == "__main__":
    main()
