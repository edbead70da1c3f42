#!/usr/bin/env python3
"""Runs the same workloads on superstep, graph-flow, adk-graph and LangGraph, in turns on this machine, and prints the ratios.

    benches/peers/compare.py                 # all workloads, three rounds
    benches/peers/compare.py W1 W3 --rounds 5

A figure is the least of its rounds: CPU microseconds per unit (superstep or worker). A ratio is a peer's figure over that of
superstep: above 1, superstep is faster. A goal is the other way round: what superstep's figure may be at most, in times
that of graph-flow, and what it is. A figure counts only beside those of the same run. LangGraph is run if
SUPERSTEP_BENCH_PYTHON names a Python with benches/langgraph/requirements.txt; its figures are medians of a few runs.
"""

import argparse
import os
import pathlib
import re
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PEERS = ["superstep", "graph-flow", "adk-graph"]
# What a figure of superstep may be at most, in times that of graph-flow. What graph-flow has in memory keeps no history.
GOALS = {
    "W1 chain 10, no store": 1.35,
    "W1 chain 100, no store": 1.4,
    "W1 chain 1000, no store": 1.5,
    "W3 loop of 2 nodes and a router, no store": 1.5,
    "W2 chain 10, memory": 1.85,
    "W2 chain 1000, memory": 3.2,
    "W4 fan-out 10, no store": 1,
    "W4 fan-out 1000, memory": 1,
    "W5 beside 1 KiB, memory": 1,
    "W5 one of 300 fields, memory": 1,
    "W6 1,000 turns of 1 KiB, memory": 1.1,
    "W8 1,000 threads of 10, memory": 1.35,
}
# What LangGraph's program calls the workloads.
LANGGRAPH = {
    "W1 chain {}, no store": "W1 chain of {}, per superstep",
    "W3 loop of 2 nodes and a router, no store": "W3 two-node loop, 1000 rounds, per superstep",
    "W2 chain {}, memory": "W2 chain of {}, memory, per superstep",
    "W4 fan-out {}, no store": "W4 fan-out {}, per worker",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="beginnings of names of workloads; none: all")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    programs = {peer: build(peer) for peer in PEERS}
    least = {peer: {} for peer in PEERS}
    for _ in range(args.rounds):
        for peer, program in programs.items():
            for workload, cpu in figures(program, args.workloads):
                least[peer][workload] = min(cpu, least[peer].get(workload, cpu))
    show(least, langgraph(args.workloads))


def build(peer):
    """Returns the program of a peer, built in a folder that all of them share."""
    target = ROOT / "target" / "peers"
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", FOLDER / peer / "Cargo.toml"]
    subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release" / f"peer-{peer}"


def figures(program, workloads):
    lines = subprocess.run([program, *workloads], check=True, capture_output=True, text=True).stdout.splitlines()
    return [(workload, float(cpu)) for workload, cpu, _ in (line.split("\t") for line in lines)]


def langgraph(workloads):
    python = os.environ.get("SUPERSTEP_BENCH_PYTHON")
    if not python:
        return {}
    names = sorted({workload.split()[0] for workload in workloads}) or ["W1", "W2", "W3", "W4"]
    command = [python, ROOT / "benches" / "langgraph" / "workloads.py", *names]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^(W\d+)\s+(.+?)\s{2,}([\d.]+) us cpu", text, re.MULTILINE)
    return {f"{workload} {what}": float(cpu) for workload, what, cpu in lines}


def show(least, theirs):
    def of_langgraph(workload):
        number = re.search(r"(?<=chain |n-out )\d+", workload)
        name = workload.replace(number[0], "{}") if number else workload
        return theirs.get(LANGGRAPH.get(name, "").format(number[0] if number else ""))

    peers = [*PEERS[1:], "LangGraph"]
    print(f"{'CPU us':<44}{'superstep':>11}" + "".join(f"{peer:>20}" for peer in peers) + f"{'goal':>26}")
    for workload, own in least["superstep"].items():
        found = [*(least[peer].get(workload) for peer in PEERS[1:]), of_langgraph(workload)]
        cells = [f"{cpu:.2f} ({cpu / own:.2f}x)" if cpu else "-" for cpu in found]
        print(f"{workload:<44}{own:>11.3f}" + "".join(f"{cell:>20}" for cell in cells) + f"{goal(workload, own, least['graph-flow'].get(workload)):>26}")


def goal(workload, own, beside):
    """Returns the goal of a workload beside graph-flow, and whether it is missed."""
    if not beside or workload not in GOALS:
        return ""
    missed = "" if own <= GOALS[workload] * beside else ", missed"
    return f"<= {GOALS[workload]}x{missed} ({own / beside:.2f})"


if __name__ == "__main__":
    main()
