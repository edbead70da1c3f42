#!/bin/sh
# Makes the repository of the example in a new folder: sh repository.sh FOLDER
set -eu
mkdir "${1:?name a folder that does not exist yet}"
cd "$1"
git init -q
git config user.name Ada
git config user.email ada@example.org
git config commit.gpgsign false
printf '# Tides\n' > README.md
printf '%s\n' '2026-03-01 high 06:12' '2026-03-01 low 12:25' '2026-03-02 high 06:58' '2026-03-02 low 13:10' > tides.txt
git add .
git commit -qm 'Begin with the tides of two days'
