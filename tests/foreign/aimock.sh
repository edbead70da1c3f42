#!/bin/sh
# A second opinion on the wire format: the driver `api` against a server that others wrote, `@copilotkit/aimock` of npm (MIT).
# Opt-in: needs node, npm and the registry. Run from the root of the repository: tests/foreign/aimock.sh [PORT]
set -eu
port=${1:-4010}
here=$(cd "$(dirname "$0")" && pwd)
place=${AIMOCK_DIR:-$(mktemp -d)}
[ -x "$place/node_modules/.bin/llmock" ] || npm install --silent --no-audit --no-fund --prefix "$place" @copilotkit/aimock@1.43.0
"$place/node_modules/.bin/llmock" --port "$port" --fixtures "$here/aimock.json" --strict --chunk-size 3 --log-level warn &
server=$!
trap 'kill $server' EXIT
tries=0
until curl --silent --output /dev/null "http://127.0.0.1:$port/"; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "the server does not start" >&2; exit 1; }
    sleep 0.1
done
AIMOCK_URL="http://127.0.0.1:$port/v1" cargo test --test drivers api::foreign -- --ignored --nocapture
