"""Plain HTTP, as curl sees it."""

import json

import pytest

CHAT = {"model": "chat", "messages": [{"role": "user", "content": "Hi."}]}
MESSAGES = {"model": "claude", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi."}]}
PATHS = {"/v1/chat/completions": CHAT, "/chat/completions": CHAT, "/v1/messages": MESSAGES}

paths = pytest.mark.parametrize("path", PATHS)


def head_of(text):
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    lines = head.split("\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), headers, body


@paths
def test_g01_a_stream_ends_with_its_dialects_last_event(gateway, upstream, curl, path):
    upstream.script(first="500", second="ok:One whole answer.")
    code, text = curl("-N", gateway.url + path, body=json.dumps(PATHS[path] | {"stream": True}))
    status, headers, body = head_of(text)
    assert (code, status) == (0, 200)
    assert headers["content-type"].startswith("text/event-stream")
    last = "event: message_stop" if "messages" in path else "data: [DONE]"
    assert last in body
    assert body.count("One") == 1


@paths
def test_r10_a_break_after_output_never_looks_like_an_end(gateway, upstream, curl, path):
    upstream.script(first="ok:one two three four five | cut:3")
    _, text = curl("-N", gateway.url + path, body=json.dumps(PATHS[path] | {"stream": True}))
    status, _, body = head_of(text)
    assert status == 200
    assert "[DONE]" not in body and "message_stop" not in body
    assert "error" in body


@paths
def test_r05_a_429_has_its_wait(gateway, upstream, curl, path):
    upstream.script(first="429:20", second="429:20")
    _, text = curl(gateway.url + path, body=json.dumps(PATHS[path]))
    status, headers, body = head_of(text)
    assert status == 429
    assert 1 <= int(headers["retry-after"]) <= 20
    assert "error" in json.loads(body)


@paths
def test_g01_a_body_that_is_no_json_is_told_so(gateway, curl, path):
    code, text = curl(gateway.url + path, body="{\"model\": ")
    status, _, body = head_of(text)
    assert (code, status) == (0, 400)
    assert json.loads(body)["error"]["message"]


def test_g02_a_long_silence_is_filled_with_keep_alives(gateway, upstream, curl):
    upstream.script(first="beats:100/2500 | ok:At last.")
    _, text = curl("-N", gateway.url + "/v1/chat/completions", body=json.dumps(CHAT | {"stream": True}))
    status, _, body = head_of(text)
    assert status == 200
    events = [block for block in body.split("\n\n") if block]
    assert events[0].startswith(":")
    assert "At" in body and "[DONE]" in body


def test_g09_a_foreign_host_is_refused(gateway, curl):
    _, text = curl("-H", "host: evil.example", gateway.url + "/v1/models")
    assert head_of(text)[0] in (403, 421)
