"""Codex against the example program, which is configured as `mcp --install codex --write` does: a run that is started and waited for.

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


def run(program, codex, model, install):
    """Runs Codex once, with tools as they are installed."""
    home = tempfile.mkdtemp()
    with open(os.path.join(home, "config.toml"), "w") as file:
        file.write(CONFIG.format(url=model.url))
    environment = {**os.environ, "CODEX_HOME": home, "HOME": home}
    subprocess.run([program, "mcp", "--install", "codex", "--write", *install], env=environment, check=True)
    command = [codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "begin-counter"]
    done = subprocess.run(command, env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return done.stdout.decode() + done.stderr.decode()


def main(program, codex):
    program, codex = os.path.abspath(program), os.path.abspath(codex)
    store = os.path.join(tempfile.mkdtemp(), "store")
    server = Server(program, store)
    wait_until("the server answers", lambda: is_up(server))
    for name, install in [
        ("over HTTP", ["--url", f"http://127.0.0.1:{server.port}/mcp"]),
        ("over standard input and output", ["--store", store + "-of-codex"]),
    ]:
        model = Model({"begin-counter": ("run_counter", {"n": 1})})
        output = run(program, codex, model, install)
        if not model.was_sent("completed", "step5"):
            server.kill()
            raise SystemExit(f"{output}\nFAILED: {name}")
        print(f"ok: {name}")
    server.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
