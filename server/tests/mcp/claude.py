"""Claude Code against the example program: a background task, its question as a form, `/exit` and `--continue`, a killed server.

Not a part of the tests that always run, as it needs the program from npm, 2.1.319 or later for tasks:

    npm install @anthropic-ai/claude-code@latest
    cargo build -p superstep-server --example agent_server
    python3 server/tests/mcp/claude.py target/debug/examples/agent_server node_modules/.bin/claude
"""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from model import Model

KEY = "sk-ant-api03-loopback-0123456789-0123456789"
PATIENCE = 90


def wait_until(what, is_true):
    end = time.monotonic() + PATIENCE
    while not is_true():
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: {what}")
        time.sleep(0.1)
    print(f"ok: {what}", flush=True)


class Server:
    """The example program, which can be killed and started again at its address."""

    def __init__(self, program, store):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command = [program, "serve", "--listen", f"127.0.0.1:{self.port}", "--store", store]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def threads(self, graph):
        body = json.dumps({"metadata": {"graph_id": graph}}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/threads/search", body, headers)
        try:
            return json.load(urllib.request.urlopen(request))
        except OSError:
            return []


class Terminal:
    """A program in a terminal."""

    def __init__(self, command, folder, environment):
        self.shown, self.pid = "", None
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                select.select([self.file], [], [])
                self.shown += os.read(self.file, 65536).decode(errors="replace")
            except OSError:
                return

    def has(self, words):
        """Returns whether words were shown; spaces are drawn as moves of the cursor."""
        plain = re.sub(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[\]P_][^\x07\x1b]*(\x07|\x1b\\)|\x1b.", "", self.shown)
        return words.replace(" ", "") in re.sub(r"\s", "", plain)

    def keys(self, *keys):
        for key in keys:
            time.sleep(0.7)
            os.write(self.file, key.encode())

    def ask(self, words, is_done):
        """Types a message until it is followed: a program knows its tools some seconds after its start."""
        for _ in range(10):
            self.keys(words, "\r")
            end = time.monotonic() + 6
            while time.monotonic() < end:
                if is_done():
                    return print(f"ok: {words}", flush=True)
                time.sleep(0.1)
        raise SystemExit(f"FAILED: {words}")

    def end(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


class Claude:
    """Claude Code with settings of its own, in a folder of its own."""

    def __init__(self, program, server, model):
        self.program, self.folder = os.path.abspath(program), tempfile.mkdtemp()
        config = os.path.join(self.folder, "config")
        os.mkdir(config)
        known = {
            "hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": [KEY[-20:]]},
            "projects": {os.path.realpath(self.folder): {"hasTrustDialogAccepted": True}},
        }
        with open(os.path.join(config, ".claude.json"), "w") as file:
            json.dump(known, file)
        self.tools = os.path.join(self.folder, "tools.json")
        with open(self.tools, "w") as file:
            url = f"http://127.0.0.1:{server.port}/mcp"
            json.dump({"mcpServers": {"graphs": {"type": "http", "url": url}}}, file)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.folder, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40",
            "CLAUDE_CONFIG_DIR": config, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "ENABLE_TOOL_SEARCH": "false",
        }

    def start(self, *words):
        allowed = ",".join(f"mcp__graphs__run_{graph}" for graph in ["approval", "slow", "counter"])
        command = [self.program, "--mcp-config", self.tools, "--strict-mcp-config", "--allowedTools", allowed, *words]
        return Terminal(command, self.folder, self.environment)


def main(program, claude):
    model = Model({
        "begin-approval": ("run_approval", {"request": "ship"}),
        "begin-slow": ("run_slow", {"steps": 60, "ms": 250}),
    })
    server = Server(program, os.path.join(tempfile.mkdtemp(), "store"))
    wait_until("the server answers", lambda: server.threads("approval") == [] and is_up(server))
    client = Claude(claude, server, model)

    terminal = client.start()
    try:
        terminal.ask("begin-approval", lambda: server.threads("approval"))
        wait_until("its question is a form", lambda: terminal.has("do ship"))
        terminal.keys("yes", "\x1b[B", "\r")
        wait_until("the form answers it", lambda: server.threads("approval")[0]["values"].get("status") == "approved")
        wait_until("the model gets the result", lambda: model.was_sent("approved"))

        terminal.ask("begin-slow", lambda: server.threads("slow"))
        server.kill()
        time.sleep(3)
        server.start()
        thread = lambda: server.threads("slow")[0]["thread_id"]
        wait_until("a killed server goes on", lambda: server.threads("slow") and server.threads("slow")[0]["status"] == "idle")
        slow = thread()
        wait_until("the model gets the result after a kill", lambda: model.was_sent(slow, "ticks"))

        terminal.ask("begin-slow again", lambda: len(server.threads("slow")) == 2)
        terminal.keys("/exit", "\r", "\r")
        time.sleep(3)
        terminal.end()
        terminal = client.start("--continue")
        slow = thread()
        wait_until("the model gets the result in the next session", lambda: model.was_sent(slow, "ticks"))
    except SystemExit:
        print(terminal.shown[-4000:])
        raise
    finally:
        terminal.end()
        server.kill()


def is_up(server):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", server.port)) == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
