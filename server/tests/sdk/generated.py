"""Checks that a client which was generated from /openapi.json creates a thread, runs it, answers its question, and gets typed answers.

Usage: generated.py ADDRESS, with the package superstep_client on the path.
"""

import sys

from superstep_client import Client
from superstep_client.api.assistants import search_assistants
from superstep_client.api.runs import create_run, join_run, wait_for_new_run
from superstep_client.api.store import get_item, put_item
from superstep_client.api.threads import create_thread, get_thread, get_thread_state, list_thread_history
from superstep_client.models import (
    Assistant, AssistantSearch, Command, Error, ItemWrite, ItemWriteValue, Run, RunRequest, Thread, ThreadRequest, ThreadState,
)


def check(claim, holds):
    if not holds:
        raise SystemExit(f"not so: {claim}")


def main(address):
    client = Client(base_url=address)
    assistants = search_assistants.sync(client=client, body=AssistantSearch(graph_id="approval"))
    check("the graph has an assistant", isinstance(assistants[0], Assistant) and assistants[0].graph_id == "approval")

    thread = create_thread.sync(client=client, body=ThreadRequest())
    check("a thread is created", isinstance(thread, Thread) and thread.status == "idle")
    name = thread.thread_id
    run = create_run.sync(name, client=client, body=RunRequest(assistant_id="approval", input_={"request": "ship"}))
    check("a run is created", isinstance(run, Run) and run.thread_id == name)
    values = join_run.sync(name, run.run_id, client=client)
    check("the run stops at its question", values["__interrupt__"][0]["value"]["question"] == "approve?")

    state = get_thread_state.sync(name, client=client)
    check("the state has the question with its terms", isinstance(state, ThreadState))
    question = state.interrupts[0]
    check("the question has a name", question.superstep.name == "approve" and question.superstep.approvals == 1)
    answer = RunRequest(assistant_id="approval", command=Command(resume={question.id: "yes"}, by="ann"))
    done = wait_for_new_run.sync(name, client=client, body=answer)
    check("the answer ends the run", done["status"] == "approved")
    check("the thread is idle", get_thread.sync(name, client=client).status == "idle")
    check("its states are listed", len(list_thread_history.sync(name, client=client, limit=10)) > 2)

    unknown = get_thread.sync("no such thread/at all", client=client)
    check("an error says what is wrong", isinstance(unknown, Error) and "no such thread/at all" in unknown.detail)

    item = ItemWrite(namespace=["generated"], key="k", value=ItemWriteValue.from_dict({"n": 1}))
    check("an item is written", put_item.sync_detailed(client=client, body=item).status_code == 204)
    found = get_item.sync(client=client, namespace="generated", key="k")
    check("an item is read", found.value.to_dict() == {"n": 1})
    check("an item that is not there is null", get_item.sync(client=client, namespace="generated", key="none") is None)
    print("generated client: ok")


main(sys.argv[1])
