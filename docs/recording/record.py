#!/usr/bin/env python3
"""Records `run tasks` in a real terminal and writes docs/recording.svg.

    cargo build && python3 docs/recording/record.py [PROGRAM]

PROGRAM is target/debug/superstep unless named. It works in /tmp/recording, which must not exist, and removes it afterwards. Python's
standard library, `sh` and git are enough. Waits that are longer than in COMMANDS and PAUSE are cut.
"""

import codecs, fcntl, os, pty, re, select, shutil, struct, subprocess, sys, tempfile, termios, time
import xml.etree.ElementTree as xml
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path("/tmp/recording/tides")
COLUMNS, ROWS = 100, 28
# What is typed, and for how many seconds its result is looked at.
COMMANDS = [
    ("superstep run tasks --plan plan.md --driver scripted:agents.yaml --thread tides", 4.5),
    ("echo $?    # 10: the run waits for a person", 2.5),
    ("superstep approve tides", 4.5),
    ("git log --oneline superstep/tides", 6),
]
KEY, PAUSE, FRAME = 0.05, 0.7, 0.08  # seconds: a key, the longest wait in between, the shortest frame

FONT, LINE, WIDTH, EDGE, BAR = 14, 19, 8.4, 16, 34
COLOURS = {"31": "#f7768e", "32": "#9ece6a", "33": "#e0af68", "2": "#737aa2", "": "#c0caf5", "$": "#7aa2f7"}


def prepare(program):
    """Makes the repository, with the plan and the scenario in it; returns the environment of the shell."""
    if PLACE.parent.exists():
        sys.exit(f"{PLACE.parent} exists: move it away first")
    PLACE.parent.mkdir()
    tools = Path(tempfile.mkdtemp())
    (tools / "superstep").symlink_to(program)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tools), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8",
           "TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", "PS1": "$ ", "COLUMNS": str(COLUMNS)}
    run = lambda *words, cwd=PLACE: subprocess.run(words, cwd=cwd, env=env, check=True)
    run("sh", str(ROOT / "examples/tasks/repository.sh"), str(PLACE), cwd="/")
    shutil.copy(ROOT / "examples/tasks/plan.md", PLACE / "plan.md")
    scenario = (ROOT / "examples/tasks/scenario.yaml").read_text()
    # So that the agents can be seen at work.
    (PLACE / "agents.yaml").write_text(scenario.replace("    steps:\n", "    steps:\n      - wait: 900ms\n"))
    run("git", "add", ".")
    run("git", "commit", "-qm", "Add a plan")
    return env, tools


class Terminal:
    """A screen of characters, each with its colour: as much of a terminal as the program needs."""

    def __init__(self):
        self.rows, self.row, self.column, self.colour = [[] for _ in range(ROWS)], 0, 0, ""
        self.rest = ""

    def feed(self, text):
        text = self.rest + text
        cut = re.search(r"\x1b(\[[0-9;?]*)?$", text)
        self.rest, text = (text[cut.start():], text[:cut.start()]) if cut else ("", text)
        for code, args, final, char in re.findall(r"(\x1b\[([0-9;?]*)([A-Za-z])|\x1b.)|((?s:.))", text):
            self.control(args, final) if code else self.put(char)

    def control(self, args, final):
        count = int(args) if args.isdigit() else 0
        if final == "A":
            self.row = max(0, self.row - max(1, count))
        elif final == "J":
            del self.rows[self.row][self.column:]
            self.rows[self.row + 1:] = [[] for _ in self.rows[self.row + 1:]]
        elif final == "K":
            del self.rows[self.row][self.column:]
        elif final == "m":
            self.colour = args if args in COLOURS else ""

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.down()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char == "\t":
            self.column = min(COLUMNS - 1, self.column // 8 * 8 + 8)
        elif char >= " ":
            if self.column == COLUMNS:
                self.column = 0
                self.down()
            line = self.rows[self.row]
            line.extend([(" ", "")] * (self.column + 1 - len(line)))
            line[self.column] = (char, self.colour)
            self.column += 1

    def down(self):
        self.row += 1
        if self.row == ROWS:
            self.rows, self.row = self.rows[1:] + [[]], ROWS - 1

    def screen(self):
        """Each row as runs of one colour."""
        shown = []
        for row, line in enumerate(self.rows):
            cells = list(line)
            if row == self.row:
                cells.extend([(" ", "")] * (self.column + 1 - len(cells)))
                if self.column < COLUMNS:
                    cells[self.column] = ("█", "2")
            while cells and cells[-1][0] == " ":
                cells.pop()
            shown.append(runs(cells))
        return tuple(shown)


def runs(cells):
    """(column, text, colour) for each stretch of a colour; characters that fonts may lack stand alone."""
    if [char for char, _ in cells[:2]] == ["$", " "]:
        cells[0] = ("$", "$")
    found = []
    for column, (char, colour) in enumerate(cells):
        before = found[-1] if found else None
        if before and before[2] == colour and char.isascii() and before[1].isascii():
            found[-1] = (before[0], before[1] + char, colour)
        else:
            found.append((column, char, colour))
    return tuple((column, text, colour) for column, text, colour in found if text.strip())


class Recorder:
    def __init__(self, env):
        self.terminal, self.frames, self.now = Terminal(), [], 0.0
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        pid, self.pty = pty.fork()
        if pid == 0:
            os.chdir(PLACE)
            os.execvpe("sh", ["sh", "-i"], env)
        fcntl.ioctl(self.pty, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.tail = ""
        self.until_prompt()
        self.shot()

    def shot(self):
        screen = self.terminal.screen()
        if self.frames and self.now - self.frames[-1][0] < FRAME:
            self.frames[-1] = (self.frames[-1][0], screen)
        elif not self.frames or self.frames[-1][1] != screen:
            self.frames.append((self.now, screen))

    def read(self, wait):
        """Reads what comes within some seconds; returns whether something did."""
        began = time.monotonic()
        if not select.select([self.pty], [], [], wait)[0]:
            return False
        text = self.decode(os.read(self.pty, 65536))
        self.now += min(time.monotonic() - began, PAUSE)
        self.terminal.feed(text)
        self.tail = (self.tail + text)[-80:]
        self.shot()
        return True

    def until_prompt(self):
        while self.read(0.4) or not self.tail.endswith("$ "):
            pass

    def type(self, line, look):
        for char in line:
            os.write(self.pty, char.encode())
            self.read(1)
            self.now += KEY
        self.now += 0.5
        self.tail = ""
        os.write(self.pty, b"\r")
        self.until_prompt()
        self.shot()
        self.now += look


def drawn(frames, end):
    """Returns the frames as an SVG: each line once, and for each time in which it is on a row, an animation that shows it."""
    ids, spans, shown = {}, {}, []
    for row in range(ROWS):
        start = 0
        for at in range(1, len(frames) + 1):
            line = frames[start][1][row]
            if at == len(frames) or frames[at][1][row] != line:
                if line:
                    span = (frames[start][0], frames[at][0] if at < len(frames) else end)
                    name = spans.setdefault(span, f"s{len(spans)}")
                    shown.append((row, ids.setdefault(line, f"l{len(ids)}"), name, at == len(frames)))
                start = at
    width, height = round(COLUMNS * WIDTH + 2 * EDGE), ROWS * LINE + BAR + EDGE
    lines = "\n".join(f'<g id="{name}">{"".join(map(run, line))}</g>' for line, name in ids.items())
    uses = "\n".join(
        f'<use href="#{line}" y="{BAR + (row + 1) * LINE}" class="{name}{" last" if is_last else ""}"/>'
        for row, line, name, is_last in shown)
    percent = lambda at: f"{100 * at / end:.2f}%"
    frame = lambda span: f"{'' if span[0] == 0 else '0%{visibility:hidden}'}{percent(span[0])}{{visibility:visible}}" + (
        "" if span[1] == end else f"{percent(span[1])}{{visibility:hidden}}")
    moves = "\n".join(f"@keyframes {name}{{{frame(span)}}}.{name}{{animation-name:{name}}}" for span, name in spans.items())
    classes = "".join(f".c{name or 'd'}{{fill:{colour}}}".replace("$", "p") for name, colour in COLOURS.items())
    dots = "".join(f'<circle cx="{EDGE + 4 + n * 18}" cy="17" r="5.5" fill="{colour}"/>'
                   for n, colour in enumerate(["#f7768e", "#e0af68", "#9ece6a"]))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>superstep run tasks stops for approval, is approved, and commits</title>
<style>
text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre}}
{classes}
use{{visibility:hidden;animation:{end:.2f}s step-end infinite}}
use.last{{visibility:visible}}
{moves}
@media (prefers-reduced-motion:reduce){{use{{animation:none}}}}
</style>
<rect width="{width}" height="{height}" rx="9" fill="#1a1b26"/>
{dots}
<defs>
{lines}
</defs>
{uses}
</svg>
"""


def run(part):
    column, text, colour = part
    length = f' textLength="{len(text) * WIDTH:g}"' if len(text) > 1 else ""
    name = {"": "d", "$": "p"}.get(colour, colour)
    return f'<text x="{EDGE + column * WIDTH:g}" class="c{name}"{length} xml:space="preserve">{escape(text)}</text>'


def main():
    program = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/superstep").resolve()
    if not program.exists():
        sys.exit(f"{program} is not there: `cargo build`, or name the program")
    env, tools = prepare(program)
    try:
        recorder = Recorder(env)
        recorder.now += 0.8
        for line, look in COMMANDS:
            recorder.type(line, look)
    finally:
        shutil.rmtree(PLACE.parent)
        shutil.rmtree(tools)
    svg = drawn(recorder.frames, recorder.now)
    xml.fromstring(svg)
    (ROOT / "docs/recording.svg").write_text(svg)
    print(f"docs/recording.svg: {len(recorder.frames)} frames, {recorder.now:.0f} s, {len(svg.encode()) // 1024} KB")


main()
