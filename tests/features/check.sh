#!/usr/bin/env bash
# Holds what the compiler says to users who name an item whose feature is off: for each file in `expected`, a program that must
# not compile, and each line of the file must be part of what is printed. Where it is not, all that was printed follows.
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
exit "$failed"
