"""A gateway of its own for every test, before a scripted upstream that misbehaves as it is told.

Nothing is built here: the programs are those of `cargo build -p ekiden` and
`cargo build -p ekiden-sim --example upstream`. EKIDEN_BIN names the first one.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import anthropic
import openai
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIX = ".exe" if sys.platform == "win32" else ""
GATEWAY = pathlib.Path(os.environ.get("EKIDEN_BIN") or ROOT / "target" / "debug" / f"ekiden{SUFFIX}")
UPSTREAM = GATEWAY.parent / "examples" / f"upstream{SUFFIX}"

# Clocks so short that an outage is soon over, and long enough for a busy machine.
CONFIG = """
listen = "127.0.0.1:0"
keepalive_after = "1s"

[providers.chat]
base_url = "{upstream}/v1"
dialect = "openai-chat"
api_key_env = "UPSTREAM_KEY"

[providers.claude]
base_url = "{upstream}"
dialect = "anthropic-messages"
api_key_env = "UPSTREAM_KEY"

[defaults]
retry_pause = "5ms"
inline_wait = 0
wait_max = 0
cooldown = "30s"
headers_timeout = "700ms"
first_byte_timeout = "700ms"
idle_timeout = "700ms"

[queues.chat]
candidates = ["chat/first", "chat/second"]

[queues.chat-complete]
candidates = ["chat/first", "chat/second"]
commit = "complete"

[queues.claude]
candidates = ["claude/first", "claude/second"]

[queues.claude-complete]
candidates = ["claude/first", "claude/second"]
commit = "complete"
"""

UPSTREAM_KEY = "sk-the-upstreams-own"
CLIENT_KEY = "sk-the-clients-own"


def fetch(url, body=None):
    """The JSON behind a URL; an error's too."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{url}: {error.code} {error.read().decode()}") from error


def started(words, **options):
    """A program, and the first address that it prints."""
    program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, encoding="utf-8", **options)
    for line in program.stdout:
        for word in line.split():
            if word.startswith("http://127.0.0.1:"):
                return program, word.rstrip("/")
    raise AssertionError(f"{words[0]} ended ({program.wait()}) before it printed its address")


def ended(program):
    """At once: an end in order would wait for the connections that the libraries keep."""
    program.kill()
    program.stdout.close()
    program.wait(timeout=20)


class Upstream:
    """Candidates are models here, and each has its script."""

    def __init__(self, url):
        self.url = url

    def script(self, first="ok", second="ok"):
        fetch(f"{self.url}/__script", {"first": first, "second": second})

    def log(self):
        return fetch(f"{self.url}/__log")["requests"]

    def asked(self):
        """The models that were asked for an answer, in order."""
        ends = ("/chat/completions", "/messages")
        return [seen["model"] for seen in self.log() if seen["path"].split("?")[0].endswith(ends)]


class Gateway:
    def __init__(self, url):
        self.url = url

    def openai(self, **options):
        options.setdefault("max_retries", 0)
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=CLIENT_KEY, **options)

    def anthropic(self, **options):
        options.setdefault("max_retries", 0)
        return anthropic.Anthropic(base_url=self.url, api_key=CLIENT_KEY, **options)

    def why(self, *words):
        """What `ekiden why` says of a call."""
        done = subprocess.run(
            [GATEWAY, "why", "--url", self.url, *words], env=surroundings(), capture_output=True,
            text=True, encoding="utf-8", timeout=20,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def surroundings():
    """No proxy, no configuration and no key of whoever runs the tests."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
    env = {name: value for name, value in os.environ.items() if name.upper() in kept}
    return env | {"LC_ALL": "C", "UPSTREAM_KEY": UPSTREAM_KEY}


@pytest.fixture(scope="session", autouse=True)
def no_proxy():
    """The libraries would take a proxy from the environment, and loopback with it."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_")):
            del os.environ[name]


@pytest.fixture(scope="session")
def upstream_program():
    assert UPSTREAM.exists(), f"{UPSTREAM}: cargo build -p ekiden-sim --example upstream"
    program, url = started([UPSTREAM])
    yield url
    ended(program)


@pytest.fixture
def upstream(upstream_program):
    upstream = Upstream(upstream_program)
    upstream.script()
    return upstream


@pytest.fixture
def gateway(upstream, tmp_path):
    assert GATEWAY.exists(), f"{GATEWAY}: cargo build -p ekiden"
    config = tmp_path / "ekiden.toml"
    config.write_text(CONFIG.format(upstream=upstream.url), encoding="utf-8")
    words = [GATEWAY, "serve", "--config", config]
    program, url = started(words, env=surroundings(), stderr=subprocess.DEVNULL)
    yield Gateway(url)
    ended(program)


@pytest.fixture
def curl():
    """Runs curl; gives its exit code, and what it printed (headers first)."""
    program = shutil.which("curl")
    assert program, "curl is missing: install it"

    def run(*words, body=None):
        words = [program, "-sS", "-i", "--max-time", "20", "--noproxy", "*", *words]
        if body is not None:
            words += ["-H", "content-type: application/json", "--data-binary", body]
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=30)
        return done.returncode, done.stdout

    return run
