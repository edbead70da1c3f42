"""Codex against the example program, which is configured as `mcp --install codex --write` does: a background run, its question and the
answer in a later session, a killed server; over HTTP, and over standard input and output.

Not a part of the tests that always run, as it needs the program from npm:

    npm install @openai/codex
    cargo build -p superstep-server --example agent_server
    python3 server/tests/mcp/codex.py target/debug/examples/agent_server node_modules/.bin/codex
"""

import os
import subprocess
import sys
import tempfile

from claude import Server, is_up, wait_until
from model import Model

CONFIG = """model = "loopback"
model_provider = "loopback"
approval_policy = "never"

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
"""


class Codex:
    """Codex with settings of its own, in a folder of its own, with tools as they are installed."""

    def __init__(self, program, codex, model, install):
        self.codex, self.home = codex, tempfile.mkdtemp()
        with open(os.path.join(self.home, "config.toml"), "w") as file:
            file.write(CONFIG.format(url=model.url))
        self.environment = {**os.environ, "CODEX_HOME": self.home, "HOME": self.home}
        subprocess.run([program, "mcp", "--install", "codex", "--write", *install], env=self.environment, check=True)

    def start(self, message, *words):
        """Starts a session, or goes on with the last one."""
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return subprocess.Popen(
            [self.codex, "exec", *words, *options, message], env=self.environment, cwd=self.home,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )

    def run(self, message, *words):
        return self.start(message, *words).communicate(timeout=120)[0].decode()


def check(what, is_true, shown):
    if not is_true:
        raise SystemExit(f"{shown}\nFAILED: {what}")
    print(f"ok: {what}", flush=True)


def try_all(way, client, model):
    shown = client.run("begin-counter")
    check(f"{way}: a background run", model.was_sent("completed", "step5"), shown)
    shown = client.run("begin-approval")
    check(f"{way}: its question", model.was_sent("input_required", "do ship"), shown)
    shown = client.run("say-yes", "resume", "--last")
    check(f"{way}: the answer in a later session", model.was_sent("approved"), shown)


def try_kill(server, client, model):
    session = client.start("begin-slow")
    wait_until("a run that lasts", lambda: server.threads("slow"))
    server.kill()
    server.start()
    wait_until("a killed server goes on", lambda: server.threads("slow") and server.threads("slow")[0]["status"] == "idle")
    shown = session.communicate(timeout=120)[0].decode()
    shown += client.run("look-again", "resume", "--last")
    slow = server.threads("slow")[0]["thread_id"]
    check("the model gets the result after a kill", model.was_sent(slow, "completed", "ticks"), shown)


def main(program, codex):
    program, codex = os.path.abspath(program), os.path.abspath(codex)
    store = os.path.join(tempfile.mkdtemp(), "store")
    server = Server(program, store)
    wait_until("the server answers", lambda: is_up(server))
    calls = {
        "begin-counter": ("run_counter", {"n": 1}),
        "begin-approval": ("run_approval", {"request": "ship"}),
        "say-yes": ("answer", {"thread": "$thread", "answer": "yes"}),
        "begin-slow": ("run_slow", {"steps": 40, "ms": 250}),
        "look-again": ("wait", {"thread": "$thread"}),
    }
    try:
        ways = {
            "HTTP": ["--url", f"http://127.0.0.1:{server.port}/mcp"],
            "standard input and output": ["--store", store + "-of-codex"],
        }
        for way, install in ways.items():
            model = Model(calls)
            client = Codex(program, codex, model, install)
            try_all(way, client, model)
            if way == "HTTP":
                try_kill(server, client, model)
    finally:
        server.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
