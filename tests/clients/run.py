"""Real clients through every fault, and what is seen of it.

    python run.py --light              the libraries, without what takes them minutes
    python run.py [--only NAME,…]      the libraries and the agents
    python run.py --write PAGE         the same, and the table goes into the page

It runs in a network of its own that has loopback only, where the machine lets it (Linux, `unshare`).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

INSIDE = "EKIDEN_CLIENTS_INSIDE"
SHELL = 'ip link set lo up; exec "$@"'
# A client may ask again by itself; more than this is a storm.
CALLS_MAX = 8


def alone():
    """Starts itself again where nothing but loopback can be reached, if that can be had."""
    tools = shutil.which("unshare") and shutil.which("ip")
    if os.environ.get(INSIDE) or not tools:
        return
    words = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words.append("--map-root-user")
    if subprocess.run([*words, "sh", "-c", SHELL, "sh", "true"], capture_output=True).returncode:
        print("no network of its own can be had here: clients may reach others", flush=True)
        return
    env = os.environ | {INSIDE: "1"}
    again = [sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]]
    sys.exit(subprocess.run([*words, "sh", "-c", SHELL, "sh", *again], env=env).returncode)


def library_faults(seen):
    """What is wrong with how a library came through; nothing if all is well."""
    whole = seen.error is None and seen.shown == "whole"
    if len(sessions(seen.calls)) > 1:
        yield "more than one session"
    if seen.foreign:
        yield "a candidate got what another one had signed"
    if seen.hope == "whole":
        if not whole:
            yield f"not whole: {seen.shown}, {seen.finish}, {seen.error}"
        if len(seen.calls) != 2:
            yield f"{len(seen.calls)} calls"
    elif seen.hope == "told":
        if seen.error is None and seen.shown != "whole":
            yield f"a cut answer passed for whole: {seen.shown}, {seen.finish}"
    elif seen.hope == "failed":
        if seen.error is None:
            yield "no error"
    elif seen.case == "truncated" and seen.error is None and seen.finish not in ("length", "max_tokens"):
        yield f"a truncated answer ended with {seen.finish}"
    elif seen.case == "overflow" and seen.error is None:
        yield "no error"


def agent_faults(agent, seen):
    if seen.hope == "whole":
        if seen.shown != "whole" or not seen.worked or seen.code != 0:
            yield f"not whole: {seen.shown}, code {seen.code}, tool {seen.worked}"
        if len(seen.calls) != agent.calls:
            yield f"{len(seen.calls)} calls"
    elif seen.hope == "told":
        if seen.shown in ("none", "part") and seen.code == 0:
            yield "a cut answer passed for whole"
        if seen.shown == "mixed" and not (agent.resumes or agent.prints):
            yield "an answer of two voices"
        if agent.prints and not seen.worked and seen.code == 0:
            yield "it did what a cut answer said"
    elif seen.hope == "failed" and seen.shown != "none":
        yield f"an answer from nowhere: {seen.shown}"
    if seen.foreign:
        yield "a candidate got what another one had signed"
    if len(seen.calls) > CALLS_MAX:
        yield f"a storm of {len(seen.calls)} calls"
    if seen.hope in ("whole", "told"):
        if len(sessions(seen.calls)) != 1:
            yield f"{len(sessions(seen.calls))} sessions"
        if any(("root-" in name) == agent.named for name in sessions(seen.calls)):
            yield "its session's own name was not seen" if agent.named else "a name was seen"
        if any(call["purpose"] != "main" for call in seen.calls):
            yield "a turn was taken for a side call"


def sessions(calls):
    return {call["session"] for call in calls}


def library_cell(seen):
    if seen.error is not None:
        word = "err" if seen.shown != "whole" else "again, err"
    else:
        word = {"whole": "ok", "part": "part"}.get(seen.shown, seen.shown)
        if seen.shown == "whole" and seen.hope == "told":
            word = "again"
    return f"{word} {len(seen.calls)}"


def agent_cell(seen):
    if seen.code is None:
        word = "waits"
    elif seen.shown == "whole":
        word = {"whole": "ok", "told": "again"}.get(seen.hope, "goes on")
    elif seen.shown == "mixed":
        word = "resumes" if seen.hope == "told" else "goes on"
    elif seen.code:
        word = "err"
    else:
        word = "part" if seen.shown == "part" else "ends"
    return f"{word} {len(seen.calls)}"


class Book:
    """All that was seen, line by line as it comes."""

    def __init__(self):
        self.rows, self.passed, self.failed, self.skipped = {}, 0, 0, 0

    def note(self, who, case, cell, faults):
        faults = list(faults)
        self.rows.setdefault(who, {})[case] = cell + (" ✗" if faults else "")
        if faults:
            self.failed += 1
            print(f"FAILED {who}: {case}: {'; '.join(faults)}", flush=True)
        else:
            self.passed += 1

    def table(self, cases):
        lines = ["| client | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
        for who, cells in self.rows.items():
            lines.append(f"| {who} | " + " | ".join(cells.get(case, "–") for case in cases) + " |")
        return "\n".join(lines)


def libraries(book, light):
    import sdks

    for seen in sdks.run(light):
        book.note(f"{seen.client}, {seen.way}", seen.case, library_cell(seen), library_faults(seen))


def agents(book, only):
    import agent as lab
    from cases import CASES
    from programs import AGENTS

    chosen = [one for one in AGENTS if not only or any(name in one.name.lower() for name in only)]
    there = [one for one in chosen if one.installed()]
    for one in chosen:
        if one not in there:
            book.skipped += len(CASES)
            print(f"{one.name} is not installed", flush=True)

    def task(pair):
        one, case = pair
        seen = lab.attempt(one, case)
        cell, faults = agent_cell(seen), list(agent_faults(one, seen))
        states = " ".join(call["state"] for call in seen.calls)
        print(f"{one.name}: {case[0]}: {cell} ({seen.took:.1f} s; {states})", flush=True)
        if faults:
            print(f"  its last words: {seen.out[-600:]!r}", flush=True)
        return one.name, case[0], cell, faults

    with ThreadPoolExecutor(2) as pool:
        for noted in pool.map(task, [(one, case) for one in there for case in CASES]):
            book.note(*noted)
    for one in there:
        took, states = lab.cancelled(one)
        print(f"{one.name}: cancel: {took} ms ({states})", flush=True)
        late = [] if took is not None and took <= lab.CANCEL_MAX_MS else [f"cancelled after {took} ms: {states}"]
        book.note(one.name, "cancel", "?" if took is None else f"{took} ms", late)
        cell, faults = lab.side(one)
        print(f"{one.name}: side calls: {cell}", flush=True)
        book.note(one.name, "side", cell, faults)


def write(page, tables):
    """Puts the tables between their marks."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for name, table in tables.items():
        start, end = f"<!-- {name}: seen -->\n", f"<!-- {name}: end -->"
        before, _, rest = text.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{page} has no marks for {name}")
        text = before + start + "\n" + table + "\n\n" + end + after
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--light", action="store_true")
    words.add_argument("--only", default="")
    words.add_argument("--write")
    words = words.parse_args()
    alone()
    from cases import CASES

    began = time.monotonic()
    cases = [case[0] for case in CASES]
    first, second = Book(), Book()
    only = [name.strip().lower() for name in words.only.split(",") if name.strip()]
    if not only or "libraries" in only:
        libraries(first, words.light)
    if not words.light:
        agents(second, [name for name in only if name != "libraries"])
        print(json.dumps({"libraries": first.rows, "agents": second.rows}, ensure_ascii=False), flush=True)
        if words.write:
            tables = {"libraries": first.table(cases), "agents": second.table([*cases, "cancel", "side"])}
            write(words.write, {name: table for name, table in tables.items() if "\n| " in table})
    passed, failed = first.passed + second.passed, first.failed + second.failed
    skipped = first.skipped + second.skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - began:.1f}s", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
