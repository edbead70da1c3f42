#!/bin/bash
# A whole workflow of the real program `codex` or `claude` against a model server on loopback: three tasks, a rejected review, a
# kill in the middle of a turn, a session that is resumed. Opt-in: needs node, npm and the registry (the programs have hundreds of
# megabytes). Run from anywhere: tests/foreign/agents/run.sh codex | claude
set -euo pipefail
agent=${1:?usage: run.sh codex | claude}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
place=$(mktemp -d)
programs=${AGENTS_DIR:-$place/agents}
case $agent in
    codex) package=@openai/codex@0.169.0 ;;
    claude) package=@anthropic-ai/claude-code@2.1.197 ;;
    *) echo "there is no agent $agent here: codex, claude" >&2; exit 2 ;;
esac
[ -x "$programs/node_modules/.bin/$agent" ] || npm install --silent --no-audit --no-fund --prefix "$programs" "$package"
cargo build --quiet --manifest-path "$root/Cargo.toml" -p superstep-cli
superstep=${CARGO_TARGET_DIR:-$root/target}/debug/superstep

fail() { echo "FAILED: $*" >&2; tail -n 40 "$place/run" >&2; exit 1; }

# The server.
log=$place/log
: > "$log"
node "$here/server.mjs" "$log" > "$place/port" &
server=$!
trap 'kill $server 2> /dev/null; rm -rf "$place"' EXIT
for _ in $(seq 100); do [ -s "$place/port" ] && break; sleep 0.1; done
url=http://127.0.0.1:$(cat "$place/port")

# The program, with a home of its own.
export HOME=$place/home
mkdir -p "$HOME"
if [ "$agent" = codex ]; then
    export CODEX_HOME=$HOME OPENAI_API_KEY=sk-mock
    cat > "$HOME/config.toml" <<END
model = "gpt-5"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "$url/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
END
else
    export CLAUDE_CONFIG_DIR=$HOME ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=sk-mock
fi
export PATH=$programs/node_modules/.bin:$PATH

# The repository and the plan.
repo=$place/repo
git init -q -b main "$repo"
cd "$repo"
git config user.name Ada
git config user.email ada@example.org
echo '# Clock' > README.md
git add . && git commit -qm begin
{
    printf '# Clock\n\n**Goal:** A clock of three parts.\n'
    for n in 1 2 3; do
        printf '\n### Task %s: Part %s\n\nWrite part-%s.txt.\n\n**Verify:** `test -s part-%s.txt`\n' $n $n $n $n
    done
} > "$place/plan.md"

# The first run is killed while the server holds the first request of task 3.
call() { "$superstep" --store "$place/store" "$@" >> "$place/run" 2>&1; }
: > "$log.hang"
call run tasks --plan "$place/plan.md" --driver "cli:$agent" --thread clock && code=0 || code=$?
[ $code -eq 10 ] || fail "the plan is to be approved: code $code"
"$superstep" --store "$place/store" approve clock >> "$place/run" 2>&1 &
run=$!
for _ in $(seq 1200); do
    grep -q held "$log.hang" && break
    kill -0 $run 2> /dev/null || fail "the run ended before it was killed"
    sleep 0.1
done
grep -q held "$log.hang" || fail "task 3 was not begun"
kill -KILL $run
wait $run 2> /dev/null || true
rm "$log.hang"
call proceed clock || fail "the killed run does not come to its end: code $?"

# What came of it.
subjects=$(git log --reverse --format=%s superstep/clock)
expected=$(printf 'begin\nfeat: Part 1 (task 1)\nfeat: Part 2 (task 2)\nfeat: Part 3 (task 3)')
[ "$subjects" = "$expected" ] || fail "these are the commits: $subjects"
for file in part-1.txt part-2.txt more-2.txt part-3.txt; do
    git cat-file -e "superstep/clock:$file" || fail "$file is missing"
done
node "$here/check.mjs" "$log" || fail "the requests are not those of the workflow"
status=$("$superstep" --store "$place/store" status clock)
grep -q 'outcome: completed' <<< "$status" || fail "$status"
echo "$status"
echo "ok: $agent"
