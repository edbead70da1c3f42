"""A loopback model for coding agents: it follows a script, and keeps what it was sent."""

import itertools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


# A thread as results name it: the ids of a client's own messages look alike.
THREAD = re.compile(r"thread\W+([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# Clients take answers with the same id for one.
NUMBERS = itertools.count(1)


class Model:
    """Calls one tool for the first message of a session, and repeats what it was told from then on.

    `calls` maps a word of the user's message to a tool and its arguments; `$thread` is the thread that was named last.
    """

    def __init__(self, calls):
        self.calls, self.sent, self.lock = calls, [], threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer(b"", "text/plain")

            def do_GET(self):
                self.answer(b"{}", "application/json")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = json.loads(body or b"{}")
                with model.lock:
                    model.sent.append((self.path, request))
                if self.path.startswith("/v1/messages/count_tokens"):
                    return self.answer(b'{"input_tokens": 1}', "application/json")
                if self.path.startswith("/v1/responses"):
                    return self.answer(responses_stream(model.next_part(request)), "text/event-stream")
                part = model.next_part(request)
                if request.get("stream"):
                    return self.answer(messages_stream(part), "text/event-stream")
                return self.answer(json.dumps(message([part])).encode(), "application/json")

            def answer(self, body, content):
                self.send_response(200)
                self.send_header("content-type", content)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def next_part(self, request):
        """Returns the next part of an answer: a call of a tool, or text."""
        tools = list(tools_of(request))
        asked = json.dumps(latest(request))
        calls = dict(self.calls)
        thread = THREAD.search(asked)
        if thread and re.search(r"status\W+working", asked):
            calls[thread[1]] = ("wait", {"thread": "$thread"})
        for word, (tool, arguments) in calls.items():
            found = next((found for found in tools if found[0].endswith(tool)), None)
            if found and word in asked:
                known = THREAD.findall(json.dumps(messages(request)))
                arguments = {name: known[-1] if value == "$thread" else value for name, value in arguments.items()}
                return {"tool": found[0], "namespace": found[1], "arguments": arguments}
        return {"text": "noted"}

    def was_sent(self, *words):
        """Returns whether one message that was sent has all words."""
        with self.lock:
            sent = [json.dumps(part) for _, request in self.sent for part in messages(request)]
        return any(all(word in part for word in words) for part in sent)


def tools_of(request):
    """Returns the names of the tools that an answer may call, each with the group that it is in."""
    for tool in request.get("tools", []):
        if "tools" in tool:
            yield from ((inner.get("name", ""), tool["name"]) for inner in tool["tools"])
        else:
            yield tool.get("name", ""), None


def latest(request):
    """Returns the messages after the last one of the model."""
    given = messages(request)
    own = [at for at, part in enumerate(given) if part.get("role") == "assistant" or part.get("type") == "function_call"]
    last = max(own, default=-1)
    return given[last + 1 :]


def messages(request):
    given = request.get("messages") or request.get("input") or []
    return given if isinstance(given, list) else [given]


def message(parts):
    number = next(NUMBERS)
    content = [
        {"type": "text", "text": part["text"]}
        if "text" in part
        else {"type": "tool_use", "id": f"call_{number}", "name": part["tool"], "input": part["arguments"]}
        for part in parts
    ]
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "loopback", "content": content,
        "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def events(all_events):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in all_events).encode()


def messages_stream(part):
    """Returns an answer as Anthropic's API streams it."""
    whole = message([part])
    block = whole["content"][0]
    if block["type"] == "text":
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return events([
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
         "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ])


def responses_stream(part):
    """Returns an answer as OpenAI's API of responses streams it."""
    number = next(NUMBERS)
    if "text" in part:
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant",
                "content": [{"type": "output_text", "text": part["text"], "annotations": []}]}
    else:
        item = {"type": "function_call", "id": f"item_{number}", "call_id": f"call_{number}", "name": part["tool"],
                "arguments": json.dumps(part["arguments"])}
        if part["namespace"]:
            item["namespace"] = part["namespace"]
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return events([
        {"type": "response.created", "response": {"id": f"response_{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"response_{number}", "output": [item], "usage": usage}},
    ])
