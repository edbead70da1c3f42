#!/usr/bin/env python3
"""Compares the benchmarks of two commits on this machine, in turns, and fails if one got slower.

    benches/compare.py main~1 main                          # all workloads, quick, five rounds of each
    benches/compare.py v0.1.0 HEAD --rounds 9 W1 W4         # some of them
    benches/compare.py main~1 main --bench paths joins

Each commit is built in a work tree of its own below `target/compare`. A figure is the least of its rounds, which a busy
machine disturbs least. Exits with 1 if a figure of the second commit is more than 5 % (`--limit`) above that of the
first. Wall times of the disk scatter by more than that: repeat those, or look at CPU times.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Columns of a line of the table, after what is measured: ours, its range, the unit. The heading shows where they are.
OURS, RANGE, UNIT = 9, 18, 12


def main():
    args = arguments()
    programs = [build(commit, args.bench) for commit in (args.old, args.new)]
    rounds = [[], []]
    for nth in range(args.rounds):
        for side, program in enumerate(programs):
            print(f"round {nth + 1}: {(args.old, args.new)[side]}", file=sys.stderr)
            rounds[side].append(figures(program, args.workloads))
    return report(*map(least, rounds), args.limit)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="the commit to compare with")
    parser.add_argument("new", help="the commit to judge")
    parser.add_argument("workloads", nargs="*", help="names of workloads; none: all")
    parser.add_argument("--bench", default="workloads", help="workloads or paths")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=5, metavar="PERCENT")
    return parser.parse_args()


def build(commit, bench):
    """Returns the program of a commit's benchmark."""
    sha = run("git", "rev-parse", "--verify", f"{commit}^{{commit}}", cwd=ROOT).strip()
    tree = ROOT / "target" / "compare" / sha
    if not tree.exists():
        run("git", "worktree", "add", "--detach", str(tree), sha, cwd=ROOT)
    lines = run("cargo", "bench", "--no-run", "--bench", bench, "--message-format", "json", cwd=tree)
    made = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return next(found["executable"] for found in made if found.get("executable") and found["target"]["name"] == bench)


def figures(program, workloads):
    """Runs a benchmark; returns each figure by its line's name."""
    found = {}
    lines = run(program, "--bench", "--quick", *workloads, cwd=ROOT).splitlines()
    heading = next(at for at, line in enumerate(lines) if "workload and parameter" in line)
    columns = lines[heading].index(" ours") + len(" ours") - OURS
    for line in lines[heading + 1 :]:
        name, ours, rest = " ".join(line[:columns].split()), line[columns : columns + OURS], line[columns + OURS :]
        range_, unit = rest[:RANGE].strip(), rest[RANGE:][:UNIT].strip()
        try:
            found[f"{name} ({unit})"] = float(range_.split("..")[0] if range_ else ours)
        except ValueError:
            if not name.startswith("load at the end"):
                print(f"not a figure: {line}", file=sys.stderr)
    return found


def least(rounds):
    return {name: min(found[name] for found in rounds if name in found) for name in rounds[0]}


def report(old, new, limit):
    worse = 0
    for name in (name for name in new if name in old and old[name] > 0):
        percent = 100 * (new[name] / old[name] - 1)
        mark = "SLOWER" if percent > limit else ""
        worse += bool(mark)
        print(f"{name:<82}{old[name]:>10g}{new[name]:>10g}{percent:>+8.1f} % {mark}".rstrip())
    print(f"{worse} of {len(new)} figures more than {limit:g} % above the first commit's")
    return 1 if worse else 0


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"`{' '.join(command)}` failed in {cwd}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
