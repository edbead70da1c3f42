#!/usr/bin/env python3
"""Cuts the power under a store, again and again, and checks that everything that was acknowledged is there, once.

    sudo python3 tests/power_cut/cut.py PROGRAM [--cuts 12] [--seed 1] [--sizes 200,3000,...] [--image FILE]

PROGRAM is the test binary `power_cut` (CONTRIBUTING.md says how to build it). It writes to an ext4 file system in a loop
device. A cut is ext4's own: the ioctl "going down" without a flush of the journal, so that the file system is left as it
would be without power; then it is mounted again, read, and written on. Needs root, loop devices and mkfs.ext4, and some
GB of room beside IMAGE.
"""
import argparse, fcntl, os, random, select, signal, struct, subprocess, sys, tempfile, time

GOING_DOWN, NO_JOURNAL_FLUSH = 0x8004587D, 2


class Disk:
    """An ext4 file system of its own, in a file."""

    def __init__(self, image, place, kind):
        self.image, self.place, self.store = image, place, f"{kind}{place}/store"
        with open(image, "wb") as file:
            file.truncate(4 << 30)
        run("mkfs.ext4", "-q", "-F", image)

    def mount(self, *options):
        run("mount", "-o", ",".join(["loop", *options]), self.image, self.place)

    def umount(self):
        for _ in range(100):
            if subprocess.run(["umount", self.place], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit(f"cannot unmount {self.place}")

    def cut(self):
        at = os.open(self.place, os.O_RDONLY)
        fcntl.ioctl(at, GOING_DOWN, struct.pack("I", NO_JOURNAL_FLUSH))
        os.close(at)


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Heard:
    """What the program said, over all its lives."""

    def __init__(self):
        self.acknowledged, self.effects, self.bad, self.count = {}, set(), [], 0

    def take(self, line):
        what, _, rest = line.partition(" ")
        if what == "ack":
            number, *values = rest.split()
            self.acknowledged[number] = values
            self.count += 1
        elif what == "effect":
            self.effects.add(rest)
        elif what == "did":
            if rest in self.effects:
                self.bad.append(f"effect {rest} happened again though it was acknowledged")
        elif what != "outcome":
            self.bad.append(line)

    def compare(self, lines):
        there, effects = {}, set()
        for line in lines:
            what, _, rest = line.partition(" ")
            if what == "have":
                number, *values = rest.split()
                if number in there:
                    self.bad.append(f"checkpoint {number} is there twice")
                there[number] = values
            elif what == "effect":
                effects.add(rest)
            else:
                self.bad.append(line)
        for number, values in self.acknowledged.items():
            if there.get(number) != values:
                self.bad.append(f"checkpoint {number} was acknowledged as {values}, found {there.get(number)}")
        self.bad += [f"effect {key} was acknowledged and is gone" for key in self.effects - effects]


def lines_of(pipe, rest):
    """Returns the whole lines that can be read now, and the beginning of another; none at the end."""
    data = os.read(pipe, 1 << 16)
    *lines, rest = (rest + data).split(b"\n")
    return ([line.decode() for line in lines], rest) if data else (None, rest)


def write_until_cut(program, disk, size, rng, heard):
    """Lets the program write for a while, cuts, and takes in everything that was said before the cut."""
    child = subprocess.Popen([program, "write", disk.store, str(size)], stdout=subprocess.PIPE)
    pipe, rest, wanted, said = child.stdout.fileno(), b"", rng.randint(1, 60), 0
    while said < wanted:
        lines, rest = lines_of(pipe, rest)
        if lines is None:
            break
        for line in lines:
            heard.take(line)
            said += line.startswith("ack")
    until = time.monotonic() + rng.random() * 0.02
    while time.monotonic() < until:
        pass
    child.send_signal(signal.SIGSTOP)
    while select.select([pipe], [], [], 0.05)[0]:
        lines, rest = lines_of(pipe, rest)
        if lines is None:
            break
        for line in lines:
            heard.take(line)
    disk.cut()
    child.kill()
    child.wait()
    child.stdout.close()


def read(program, disk, heard):
    done = subprocess.run([program, "read", disk.store, "0"], capture_output=True, text=True)
    heard.compare(done.stdout.splitlines())
    if done.returncode or "panicked" in done.stderr:
        heard.bad.append(f"reading ended with {done.returncode}: {done.stderr[-400:]}")


def check_read_only(program, disk, heard):
    """A store on a file system that may only be read is told as such."""
    disk.mount("ro")
    done = subprocess.run([program, "read", disk.store, "0"], capture_output=True, text=True)
    if "Read-only file system" not in done.stderr:
        heard.bad.append(f"on a read-only file system: {done.stderr[-400:]}")
    disk.umount()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cuts", type=int, default=12, help="cuts for each size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", default="200,3000,30000,100000,300000,1000000", help="bytes of the values")
    parser.add_argument("--image", default=os.path.join(tempfile.gettempdir(), "superstep-power-cut.img"))
    parser.add_argument("--kind", default="", choices=["", "fjall:"], help="what stands before the path of the store")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("error: only root may mount and cut\n help: sudo python3 " + " ".join(sys.argv))
    program, bad = os.path.abspath(options.program), 0
    with tempfile.TemporaryDirectory() as place:
        for size in map(int, options.sizes.split(",")):
            disk, heard, rng = Disk(options.image, place, options.kind), Heard(), random.Random(f"{options.seed} {size}")
            for _ in range(options.cuts):
                disk.mount()
                write_until_cut(program, disk, size, rng, heard)
                disk.umount()
                disk.mount()
                read(program, disk, heard)
                disk.umount()
            check_read_only(program, disk, heard)
            print(f"{size} bytes: {options.cuts} cuts, {heard.count} checkpoints and {len(heard.effects)} effects "
                  f"acknowledged, {len(heard.bad)} wrong", flush=True)
            for line in heard.bad[:10]:
                print("   ", line)
            bad += len(heard.bad)
    os.remove(options.image)
    raise SystemExit(1 if bad else 0)


main()
