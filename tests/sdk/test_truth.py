"""What cannot be mended is told as it is, so that the libraries raise the right exception."""

import pytest

from dialects import Chat, Messages

dialects = pytest.mark.parametrize("dialect", [Chat, Messages])
ways = pytest.mark.parametrize("way", ["ask", "stream"])


@dialects
@ways
def test_r05_when_all_are_rate_limited_the_client_is_told_to_come_back(gateway, upstream, dialect, way):
    upstream.script(first="429:20", second="429:40")
    with pytest.raises(dialect.errors.RateLimitError) as raised:
        getattr(dialect(gateway), way)()
    assert raised.value.status_code == 429
    assert 1 <= int(raised.value.response.headers["retry-after"]) <= 20


@dialects
@ways
def test_r45_when_nothing_comes_back_today_the_libraries_do_not_retry(gateway, upstream, dialect, way):
    upstream.script(first="quota", second="quota")
    with pytest.raises(dialect.errors.APIStatusError) as raised:
        getattr(dialect(gateway, max_retries=4), way)()
    assert raised.value.response.headers["x-should-retry"] == "false"
    assert raised.value.status_code in {Chat: {429}, Messages: {503, 529}}[dialect]
    if dialect is Chat:
        assert raised.value.code == "insufficient_quota"
    text = str(raised.value)
    assert "first" in text and "second" in text
    calls = gateway_calls(gateway)
    assert len(calls) == 1


@dialects
@ways
def test_r45_a_candidates_own_401_never_reaches_the_client(gateway, upstream, dialect, way):
    upstream.script(first="401", second="403")
    with pytest.raises(dialect.errors.APIStatusError) as raised:
        getattr(dialect(gateway), way)()
    assert raised.value.status_code not in (401, 402, 403, 404)


@dialects
def test_r10_a_break_after_output_is_an_exception_and_no_second_voice(gateway, upstream, dialect):
    upstream.script(first="ok:one two three four five | cut:3", second="ok:other words")
    heard = []
    with pytest.raises(dialect.errors.APIError):
        dialect(gateway).stream(heard=heard)
    said = "".join(heard)
    assert said and "one two three four five".startswith(said.rstrip())
    assert upstream.asked() == ["first"]


@dialects
@ways
def test_r14_a_truncated_answer_goes_out_as_it_is(gateway, upstream, dialect, way):
    upstream.script(first="ok:as far as it came | length")
    answer = getattr(dialect(gateway), way)()
    assert answer.text == "as far as it came"
    assert answer.ending == dialect.truncated
    assert upstream.asked() == ["first"]


@dialects
@ways
def test_r15_an_overflow_is_the_dialects_own_and_nobody_else_is_asked(gateway, upstream, dialect, way):
    upstream.script(first="overflow")
    with pytest.raises(dialect.errors.BadRequestError) as raised:
        getattr(dialect(gateway), way)()
    assert raised.value.status_code == 400
    if dialect is Chat:
        assert raised.value.code == "context_length_exceeded"
        assert "maximum context length" in str(raised.value)
    else:
        assert raised.value.body["error"]["message"].startswith("prompt is too long: ")
    assert upstream.asked() == ["first"]


@dialects
@ways
def test_s3_a_request_that_all_refuse_comes_back_with_the_first_ones_words(gateway, upstream, dialect, way):
    upstream.script(first="400", second="400")
    with pytest.raises(dialect.errors.BadRequestError) as raised:
        getattr(dialect(gateway), way)()
    assert raised.value.status_code == 400


@dialects
def test_r01_an_unknown_model_is_not_found_and_the_nearest_is_named(gateway, upstream, dialect):
    near = {Chat: "chta", Messages: "cluade"}[dialect]
    with pytest.raises(dialect.errors.NotFoundError) as raised:
        dialect(gateway, queue=near).ask()
    assert {Chat: "chat", Messages: "claude"}[dialect] in str(raised.value)
    assert upstream.asked() == []


@dialects
def test_r12_a_client_that_leaves_blames_nobody(gateway, upstream, dialect):
    upstream.script(first="endless | drip:10; ok:Back again.")
    client = dialect(gateway)
    leave_early(client)
    answer = client.ask()
    assert answer.text == "Back again."
    assert answer.model == "first"
    assert upstream.log()[0]["end"] == "ClientGone"


@dialects
@ways
def test_g01_the_clients_key_stays_here_and_the_providers_is_sent(gateway, upstream, dialect, way):
    from conftest import CLIENT_KEY, UPSTREAM_KEY

    getattr(dialect(gateway), way)()
    headers = upstream.log()[0]["headers"]
    sent = headers["authorization"] if dialect is Chat else headers["x-api-key"]
    assert UPSTREAM_KEY in sent
    assert CLIENT_KEY not in str(headers)


def leave_early(client):
    if isinstance(client, Chat):
        stream = client.client.chat.completions.create(
            model=client.queue, messages=[{"role": "user", "content": "Go on."}], stream=True
        )
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                break
        stream.close()
    else:
        with client.client.messages.stream(
            model=client.queue, max_tokens=100, messages=[{"role": "user", "content": "Go on."}]
        ) as stream:
            next(iter(stream.text_stream))


def gateway_calls(gateway):
    from conftest import fetch

    return fetch(f"{gateway.url}/api/v1/calls")["past"]
