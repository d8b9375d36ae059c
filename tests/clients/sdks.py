"""All libraries through all faults, in one gateway: a queue for each."""

import json
import os
import shutil
import subprocess
import threading

from programs import FOLDER, LIBRARIES, node
from cases import CASES, PROMPT, SECRET, foreign, script, shown, terms
from lab import CLIENT_KEY, Lab, Queue, surroundings

TOOL = 'read_note {"path":"note.txt"}'
DIALECTS = {
    "openai-py": "chat", "anthropic-py": "anthropic", "langchain-py-openai": "chat",
    "langchain-py-anthropic": "anthropic", "openai-js": "chat", "anthropic-js": "anthropic",
    "ai-compatible": "chat", "ai-openai": "chat", "ai-anthropic": "anthropic",
    "langchain-js-openai": "chat", "langchain-js-anthropic": "anthropic",
}
HERE = os.path.dirname(os.path.abspath(__file__))
# What breaks off a whole answer's transport shows before its commit, so that it is made good.
STREAMED_ONLY = {"hang", "error-event", "cut-tool", "stall-early", "cut-late", "stall-late", "cut-held"}


class Seen:
    def __init__(self, job, case, calls, seen):
        self.client, self.way, self.case, self.hope = job["client"], job["way"], case[0], case[3]
        self.text, self.finish, self.error, self.ms = job["text"], job["finish"], job["error"], job["ms"]
        self.calls, self.foreign = calls, foreign(seen)
        self.shown = shown(self.text)


def jobs(light):
    for client in DIALECTS:
        for case in CASES:
            for way in ("stream", "ask"):
                if light and case[3] == "failed":
                    # Some of them try again for minutes.
                    continue
                if way == "stream" or case[0] not in STREAMED_ONLY:
                    yield client, way, case


def queue_of(client, way, case):
    return f"{client}-{way}-{case[0]}"


def beside(path):
    """A copy of the script where Node finds the packages."""
    return shutil.copy(path, LIBRARIES.parent)


def run(light):
    todo = list(jobs(light))
    queues = []
    for client, way, case in todo:
        first, second = (script(text, TOOL) for text in case[1:3])
        queues.append(Queue(queue_of(client, way, case), DIALECTS[client], first, second, **terms(case[0])))
    with Lab(queues) as lab:
        told = {"base": lab.gateway, "key": CLIENT_KEY, "prompt": PROMPT, "note": SECRET}
        names = {queue_of(*job): job for job in todo}
        python, script_ = str(FOLDER / "py" / "bin" / "python"), os.path.join(HERE, "sdk.py")
        programs = [
            ([python, "-B", script_], [job for job in todo if "-py" in job[0]]),
            ([node(), beside(os.path.join(HERE, "sdk.mjs"))], [job for job in todo if "-py" not in job[0]]),
        ]
        answers = []

        def one(words, part):
            asked = [{"client": c, "way": w, "queue": queue_of(c, w, k)} for c, w, k in part]
            env = surroundings(HOME=lab.folder.name)
            done = subprocess.run(words, input=json.dumps(told | {"jobs": asked}), capture_output=True, text=True, env=env, timeout=600)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            if len(lines) < len(part):
                raise RuntimeError(f"{words[-1]} answered {len(lines)} of {len(part)}:\n{done.stderr[-3000:]}")
            answers.extend(lines)

        threads = [threading.Thread(target=one, args=program) for program in programs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        calls, seen = lab.calls(), lab.seen()
    out = []
    for job in answers:
        case = names[job["queue"]][2]
        mine = [call for call in calls if call["queue"] == job["queue"]]
        asked = [request for request in seen if (request["model"] or "")[:-2] == job["queue"]]
        out.append(Seen(job, case, mine, asked))
    return out
