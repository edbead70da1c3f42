#!/usr/bin/env python3
"""Measures what a developer waits for, each in a fresh clone of the last commit, and prints it beside its limit.

    benches/hour.py                 # all four; about half an hour on two quiet cores
    benches/hour.py demo library    # some of them

demo: CPU seconds of README's first command, from nothing. library: those of a release build of a program that uses the
library with its default features. tests: wall seconds of README's `cargo test`, from nothing. program: megabytes of the
released program `superstep`, stripped. The clones are below target/hour, where up to 10 GB must be free, and are removed.
What cargo downloads is downloaded before, and does not count. Measure on a quiet machine: CPU time grows when others use
its cores. Exits with 1 if a limit is missed or a command fails.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = """[package]
name = "program"
edition = "2024"

[workspace]

[dependencies]
serde = {{ version = "1", features = ["derive"] }}
superstep = {{ path = "{clone}" }}
tokio = {{ version = "1", features = ["macros", "rt-multi-thread"] }}
"""
# Settings of a developer that change what is built, or build less.
SETTINGS = ("CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", help=", ".join(FIGURES) + "; none: all")
    wanted = parser.parse_args().figures or list(FIGURES)
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        parser.error(f"no figure is named {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    (ROOT / "target" / "hour").mkdir(parents=True, exist_ok=True)
    print(f"{'':<10}{'wall s':>10}{'CPU s':>10}{'figure':>10}{'limit':>10}", flush=True)
    return 0 if all([show(name) for name in wanted]) else 1


def show(name):
    """Measures a figure in a clone of its own and prints it. Returns true if its limit is kept."""
    measure, limit = FIGURES[name]
    with tempfile.TemporaryDirectory(dir=ROOT / "target" / "hour", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # servers of the tests run as another user
        clone = pathlib.Path(folder) / "superstep"
        try:
            run(folder, "git", "clone", "--quiet", ROOT, clone)
            run(clone, "cargo", "fetch", "--quiet", "--locked")
            wall, cpu, figure = measure(clone)
        except subprocess.CalledProcessError as error:
            print(f"{name}: `{' '.join(map(str, error.cmd))}` failed\n{error.stdout[-4000:]}", flush=True)
            return False
    missed = "" if figure <= limit else "  missed"
    print(f"{name:<10}{wall:>10.0f}{cpu:>10.0f}{figure:>10.1f}{limit:>10}{missed}", flush=True)
    return figure <= limit


def demo(clone):
    made = clone.parent / "made"
    made.mkdir()  # the demo leaves its repository in the folder for temporary files
    wall, cpu = cargo(clone, "run", "--locked", "--target-dir", "target", "--", "demo", "--yes", TMPDIR=str(made))
    return wall, cpu, cpu


def library(clone):
    program = clone.parent / "program"
    (program / "src").mkdir(parents=True)
    (program / "Cargo.toml").write_text(MANIFEST.format(clone=clone))
    (program / "src" / "main.rs").write_bytes((clone / "examples" / "approval.rs").read_bytes())
    (program / "Cargo.lock").write_bytes((clone / "Cargo.lock").read_bytes())
    cargo(program, "fetch")
    wall, cpu = cargo(program, "build", "--release", "--offline", "--target-dir", "target")
    return wall, cpu, cpu


def tests(clone):
    wall, cpu = cargo(clone, "test", "--locked", "--target-dir", "target")
    return wall, cpu, wall


def program(clone):
    wall, cpu = cargo(clone, "build", "--release", "--locked", "--target-dir", "target", "-p", "superstep-cli")
    return wall, cpu, (clone / "target" / "release" / "superstep").stat().st_size / 1e6


def cargo(folder, command, *arguments, **environment):
    return run(folder, "cargo", command, "--quiet", *arguments, **environment)


def run(folder, *command, **environment):
    """Runs a command. Returns wall and CPU seconds, with its children."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    kept |= {"RUSTC_WRAPPER": "", "RUSTC_WORKSPACE_WRAPPER": "", **environment}
    began, before = time.monotonic(), used()
    subprocess.run(
        command, cwd=folder, check=True, env=kept, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return time.monotonic() - began, used() - before


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


FIGURES = {"demo": (demo, 110), "library": (library, 110), "tests": (tests, 720), "program": (program, 18)}

if __name__ == "__main__":
    sys.exit(main())
