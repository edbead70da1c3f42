#!/usr/bin/env bash
# Checks the server with the official SDKs, of Python and of JavaScript, and with a client that is generated from its description: installs
# them below target/sdk, starts the example on a free port, and runs the checks of this folder. What the machine lacks is skipped, and said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

sdk="target/sdk"
log="$sdk/server.log"
mkdir -p "$sdk"

python() {
    command -v python3 >/dev/null || return 1
    [ -x "$sdk/python/bin/python" ] || python3 -m venv "$sdk/python" || return 1
    "$sdk/python/bin/python" -c "import langgraph_sdk" 2>/dev/null \
        || "$sdk/python/bin/python" -m pip install -q langgraph-sdk==0.4.14
}

# Installs the generator of clients.
generator() {
    command -v python3 >/dev/null || return 1
    [ -x "$sdk/generator/bin/python" ] || python3 -m venv "$sdk/generator" || return 1
    [ -x "$sdk/generator/bin/openapi-python-client" ] \
        || "$sdk/generator/bin/python" -m pip install -q openapi-python-client==0.29.1 || return 1
    echo "post_hooks: []" >"$sdk/generator/settings.yaml"
}

javascript() {
    command -v node >/dev/null && command -v npm >/dev/null || return 1
    for version in "$@"; do
        [ -d "$sdk/$version/node_modules/@langchain/langgraph-sdk" ] || npm install --prefix "$sdk/$version" \
            --ignore-scripts --no-audit --no-fund --silent "@langchain/langgraph-sdk@$version" @langchain/core || return 1
    done
}

cargo build --locked --workspace --example agent_server
target/debug/examples/agent_server serve --listen 127.0.0.1:0 --store memory: --jobs 32 --allow-private-webhooks >"$log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    grep -q "listening on" "$log" && break
    sleep 0.1
done
address="$(sed -n 's/^listening on //p' "$log")"
[ -n "$address" ] || { echo "the server has not started" >&2; exit 1; }

if python; then
    "$sdk/python/bin/python" server/tests/sdk/check.py "$address"
else
    echo "skipped: the SDK for Python cannot be installed"
fi
if generator; then
    "$sdk/generator/bin/openapi-python-client" generate --url "$address/openapi.json" --meta none --overwrite --fail-on-warning \
        --output-path "$sdk/client/superstep_client" --config "$sdk/generator/settings.yaml"
    PYTHONPATH="$sdk/client" "$sdk/generator/bin/python" server/tests/sdk/generated.py "$address"
else
    echo "skipped: the generator of clients cannot be installed"
fi
if javascript 1.15.0 2.0.0; then
    sockets=""
    node --experimental-websocket -e 0 2>/dev/null && sockets="--experimental-websocket" # without it, node 20 has no WebSocket
    for version in 1.15.0 2.0.0; do
        node server/tests/sdk/front_ends.mjs "$address" "$PWD/$sdk/$version/node_modules/@langchain/langgraph-sdk"
        node $sockets server/tests/sdk/check.mjs "$address" "$PWD/$sdk/$version/node_modules/@langchain/langgraph-sdk"
    done
else
    echo "skipped: the SDK for JavaScript cannot be installed"
fi
