"""One task by one agent: what it answered, what it asked, and what became of it."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from programs import Run, write
from cases import ANSWER, LONG, SECRET, foreign, script, shown, terms
from lab import Lab, Queue, Tap, surroundings

TIMEOUT_S = 60
CANCEL_MAX_MS = 100


class Outcome:
    """What was seen, as it goes into the table."""

    def __init__(self, **seen):
        self.__dict__.update(seen)


class Home:
    """A home and a folder to work in, both empty but for the note."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ekiden-home-", ignore_cleanup_errors=True)
        root = pathlib.Path(self.folder.name)
        self.home, self.work = root / "home", root / "work"
        self.home.mkdir()
        write(self.work / "note.txt", f"{SECRET}\n")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def env(self, agent, run):
        own = {
            "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"), "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
        }
        own |= agent.prepare(run)
        return surroundings(**own)


def start(agent, run, place, prompt):
    env = place.env(agent, run)
    options = dict(cwd=place.work, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    setup = agent.first(run)
    if setup:
        subprocess.run(setup, capture_output=True, timeout=60, **options)
    return subprocess.Popen(
        agent.words(run, prompt), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )


def ended(program, seconds):
    """Its output and code; none if it had to be killed. Only its own group is touched."""
    try:
        out, _ = program.communicate(timeout=seconds)
        code = program.returncode
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        out, _ = program.communicate()
        code = None
    try:
        # What it left running behind itself.
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return plain(out), code


def plain(out):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07", "", out.decode("utf-8", "replace"))


def attempt(agent, case):
    name, first, second, hope = case
    if not agent.summarises:
        first = first.replace("; S;", ";")
    first, second = (script(text, agent.tool, agent.answers, agent.part) for text in (first, second))
    queue = Queue("q", agent.dialect, first, second, **terms(name))
    side = Queue("small", agent.dialect, "ok:A note", "ok:A note")
    with Lab([queue, side]) as lab, Home() as place:
        run = Run(place.home, lab.gateway, "q", "small")
        began = time.monotonic()
        out, code = ended(start(agent, run, place, agent.prompt), TIMEOUT_S)
        took = time.monotonic() - began
        answer = agent.answer(out, place.work)
        calls = [call for call in lab.calls() if call["queue"] == "q"]
        seen = [request for request in lab.seen() if (request["model"] or "").startswith("q-")]
        tool = agent.worked(seen, place.work)
    return Outcome(
        agent=agent.name, case=name, hope=hope, code=code, took=took, answer=answer, out=out,
        calls=calls, seen=seen, shown=shown(answer), worked=tool, foreign=foreign(seen),
    )


def running(lab):
    """Whether a candidate of the queue is being heard."""
    mine = [request for request in lab.seen() if (request["model"] or "").startswith("q-")]
    return any(request["end"] is None for request in mine)


def cancelled(agent):
    """SIGINT while the answer runs: how long until the candidate was let go, in milliseconds."""
    queue = Queue("q", agent.dialect, f"ok:{LONG} | drip:40", "ok")
    side = Queue("small", agent.dialect, "ok:A note", "ok:A note")
    with Lab([queue, side]) as lab, Home() as place:
        tap = Tap(lab.gateway)
        run = Run(place.home, tap.url, "q", "small")
        program = start(agent, run, place, agent.prompt)
        until = time.monotonic() + 40
        while not running(lab):
            if time.monotonic() > until or program.poll() is not None:
                ended(program, 0)
                return None, "it never asked"
            time.sleep(0.05)
        time.sleep(1)
        asked = time.monotonic()
        known = len(tap.closed)
        os.killpg(program.pid, signal.SIGINT)
        while running(lab) and time.monotonic() < asked + 10:
            time.sleep(0.004)
        freed = time.monotonic()
        closed = [at for at in tap.closed[known:] if at >= asked]
        ended(program, 5)
        calls = [call for call in lab.calls() if call["queue"] == "q"]
        tap.close()
    if not closed:
        return None, "it closed nothing"
    left = [call["state"] for call in calls]
    return round((freed - max(at for at in closed if at <= freed)) * 1000), ",".join(left)


def side(agent):
    """All in one queue: which of its calls are side calls, and whether each is taken for one."""
    queue = Queue("q", agent.dialect, f"ok:{ANSWER}", "ok")
    with Lab([queue]) as lab, Home() as place:
        run = Run(place.home, lab.gateway, "q")
        ended(start(agent, run, place, agent.prompt), TIMEOUT_S)
        calls, seen = lab.calls(), lab.seen()
    internal = sum(call["purpose"] == "internal" for call in calls)
    bare = sum(not request["body"].get("tools") for request in seen if request["body"])
    wanted = bare if agent.tool else 0
    faults = [] if internal == wanted else [f"{internal} of {wanted} side calls were known"]
    return f"{internal} of {wanted}", faults
