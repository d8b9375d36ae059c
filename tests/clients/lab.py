"""A gateway before a scripted upstream, both of them fresh for each task. It judges nothing.

Nothing is built here: EKIDEN_BIN names the program, and the upstream stands in `examples/` beside it.
"""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

BIN = pathlib.Path(os.environ["EKIDEN_BIN"])
UPSTREAM = BIN.parent / "examples" / f"upstream{BIN.suffix}"
UPSTREAM_KEY = "sk-the-upstreams-own"
CLIENT_KEY = "sk-the-clients-own"

# Clocks so short that a fault is soon over; everything else is as it is shipped.
HEAD = """
listen = "127.0.0.1:0"
state_dir = {state}
keepalive_after = "1s"

[defaults]
retry_pause = "20ms"
wait_max = 0
headers_timeout = "1500ms"
first_byte_timeout = "1500ms"
idle_timeout = "1500ms"
"""
PROVIDER = """
[providers.{name}]
base_url = "{url}"
dialect = "{dialect}"
api_key_env = "UPSTREAM_KEY"
"""
# One for each place in a queue: what one provider signed is no other one's.
PROVIDERS = [
    (f"{short}-{place}", path, dialect)
    for short, path, dialect in (("chat", "/v1", "openai-chat"), ("anthropic", "", "anthropic-messages"))
    for place in "ab"
]
QUEUE = """
[queues.{queue}]
candidates = ["{dialect}-a/{queue}-a", "{dialect}-b/{queue}-b"]
commit = "{commit}"
parole_after = "{parole}"
"""


class Queue:
    """Two candidates, `NAME-a` and `NAME-b`, each with its script."""

    def __init__(self, name, dialect, first, second, commit="first-output", parole="1m"):
        self.name, self.dialect, self.commit, self.parole = name, dialect, commit, parole
        self.scripts = {f"{name}-a": first, f"{name}-b": second}


def fetch(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=20) as answer:
        return json.load(answer)


def surroundings(**more):
    """No proxy, no configuration and no key of whoever runs this."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
    env = {name: value for name, value in os.environ.items() if name.upper() in kept}
    return env | {"LC_ALL": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "CI": "1"} | more


def started(words, **options):
    program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, encoding="utf-8", **options)
    for line in program.stdout:
        for word in line.split():
            if word.startswith("http://127.0.0.1:"):
                # What comes later is not wanted, but must not fill the pipe.
                threading.Thread(target=program.stdout.read, daemon=True).start()
                return program, word.rstrip("/")
    raise RuntimeError(f"{words[0]} ended ({program.wait()}) before it printed its address")


class Lab:
    """Both programs, with these queues."""

    def __init__(self, queues):
        self.folder = tempfile.TemporaryDirectory(prefix="ekiden-clients-", ignore_cleanup_errors=True)
        folder = pathlib.Path(self.folder.name)
        self.upstream_program, self.upstream = started([UPSTREAM])
        scripts = {model: script for queue in queues for model, script in queue.scripts.items()}
        fetch(f"{self.upstream}/__script", scripts)
        config = folder / "ekiden.toml"
        text = HEAD.format(state=json.dumps(str(folder / "state")))
        for name, path, dialect in PROVIDERS:
            # Another host is another vendor, whose signatures are foreign.
            host = self.upstream.replace("127.0.0.1", "localhost") if name.endswith("b") else self.upstream
            text += PROVIDER.format(name=name, url=host + path, dialect=dialect)
        for queue in queues:
            text += QUEUE.format(queue=queue.name, dialect=queue.dialect, commit=queue.commit, parole=queue.parole)
        config.write_text(text, encoding="utf-8")
        words = [BIN, "serve", "--config", config]
        env = surroundings(UPSTREAM_KEY=UPSTREAM_KEY)
        self.program, self.gateway = started(words, env=env, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in (self.program, self.upstream_program):
            program.kill()
            program.wait(timeout=20)
        self.folder.cleanup()

    def calls(self):
        """What the gateway says of all calls, oldest first."""
        told = fetch(f"{self.gateway}/api/v1/calls?limit=1000")
        return sorted(told["past"] + told["open"], key=lambda call: (call["began_ms"], call["call"]))

    def seen(self):
        """The requests that the upstream saw, in order."""
        return fetch(f"{self.upstream}/__log")["requests"]


class Tap:
    """A pipe between a client and the gateway that notes when the client closes."""

    def __init__(self, gateway):
        host, port = gateway.removeprefix("http://").split(":")
        self.gateway = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.closed = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.gateway)
            for ends in ((client, server, self.closed), (server, client, [])):
                threading.Thread(target=self._copy, args=ends, daemon=True).start()

    @staticmethod
    def _copy(source, sink, closed):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        closed.append(time.monotonic())
        for end in (sink, source):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
