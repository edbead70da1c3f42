#!/usr/bin/env bash
# Holds what the compiler says to users who name an item whose feature is off: for each file in `expected`, a program that must
# not compile, and each line of the file must be part of what is printed. Where it is not, all that was printed follows.
# Then: a command that needs a feature of the program names it.
# Then: no feature that superstep turns on changes the clients of a user's program, which `clients` is an example of.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

failed=0
for file in expected/*.txt; do
    mistake="$(basename "$file" .txt)"
    if said="$(CARGO_TERM_COLOR=never cargo rustc --quiet --locked --profile check -- --cfg "mistake=\"$mistake\"" 2>&1)"; then
        echo "$mistake: it compiles"
        failed=1
    fi
    while IFS= read -r line; do
        grep --quiet --fixed-strings -- "$line" <<<"$said" && continue
        printf '%s: nothing says `%s`, but:\n%s\n' "$mistake" "$line" "$said"
        failed=1
    done <"$file"
done

# One build for both: the clients have their few features beside those of the program.
if ! said="$(cargo build --quiet --locked --package superstep-first-program --package superstep-own-clients 2>&1)"; then
    printf 'the programs do not compile:\n%s\n' "$said"
    exit 1
fi
programs="../../target/debug"

for command in "serve" "keys list --api-keys keys.json" "mcp"; do
    # shellcheck disable=SC2086 # the words of a command line
    said="$("$programs/first-program" $command 2>&1)"
    code=$?
    # shellcheck disable=SC2016 # the quotes of the sentence
    grep --quiet --fixed-strings 'build it with the feature `server`' <<<"$said" && [ "$code" = 2 ] && continue
    printf '%s: the feature `server` is not named, but with exit code %s:\n%s\n' "$command" "$code" "$said"
    failed=1
done

if cargo tree --locked --package superstep-cli --edges normal --prefix none | grep '^superstep-server '; then
    echo "server: the program \`superstep\` has the server (above) without its feature \`server\`"
    failed=1
fi

if ! said="$("$programs/superstep-own-clients" 2>&1)"; then
    printf 'clients: a program with clients of its own fails beside superstep:\n%s\n' "$said"
    failed=1
fi
# rustls takes the cryptography of its one feature as the default of the whole program, and refuses to choose between two.
tree="$(cargo tree --locked --package superstep --all-features --edges normal --prefix none --format '{p} {f}')"
if grep --extended-regexp '^(rustls|hyper-rustls|tokio-rustls|quinn|reqwest) .*(ring|aws)' <<<"$tree" || grep '^reqwest ' <<<"$tree"; then
    echo "clients: superstep chooses the TLS of the user's program (above)"
    failed=1
fi
exit "$failed"
