"""The first candidate fails; whoever asked gets the second one's whole answer and no trouble."""

import pytest

from dialects import Chat, Messages

SAID = "The second one answers, from the first word to the last."

# As a script, and whether it is a failure only of streams.
FAULTS = {
    "rate_limited": "429:20",
    "rate_limited_without_a_wait": "429",
    "server_error": "500",
    "overloaded": "503",
    "bad_gateway_page": "502 | body:<html><h1>502 Bad Gateway</h1></html>",
    "out_of_quota": "quota",
    "bad_key": "401",
    "no_such_model": "404",
    "reset": "reset",
    "nothing_said": "empty",
    "no_body": "zero",
    "a_page_instead": "html",
    "ends_early": "eof:0",
}
STREAMED_FAULTS = {
    "no_answer_ever": "hang",
    "silent_after_its_headers": "silent",
    "pings_then_gone": "beats:50/200 | cut:0",
    "thinks_then_breaks_off": "think:Let me see now. | cut:2",
    "an_error_inside": "error:overloaded",
    "an_error_after_the_start": "error-after:0/quota",
    "half_json_first": "malformed:0",
}

dialects = pytest.mark.parametrize("dialect", [Chat, Messages])


@dialects
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("way", ["ask", "stream"])
def test_g01_the_second_candidate_answers(gateway, upstream, dialect, fault, way):
    upstream.script(first=fault, second=f"ok:{SAID}")
    answer = getattr(dialect(gateway), way)()
    assert answer.text == SAID
    assert answer.ending == dialect.whole
    assert answer.model == "second"
    assert upstream.asked()[0] == "first"
    assert upstream.asked()[-1] == "second"


@dialects
@pytest.mark.parametrize("fault", STREAMED_FAULTS.values(), ids=STREAMED_FAULTS.keys())
def test_r10_a_stream_that_fails_before_output_is_never_seen(gateway, upstream, dialect, fault):
    upstream.script(first=fault, second=f"ok:{SAID}")
    answer = dialect(gateway).stream()
    assert answer.text == SAID
    assert answer.ending == dialect.whole
    assert answer.model == "second"


@dialects
def test_r11_a_hanging_whole_answer_gets_its_share_of_the_clients_own_time(gateway, upstream, dialect):
    upstream.script(first="hang", second=f"ok:{SAID}")
    # The library tells how long it waits; a margin is left, and the rest is shared out.
    answer = dialect(gateway, timeout=7).ask()
    assert answer.text == SAID


@dialects
def test_r16_a_held_answer_that_is_cut_late_is_made_good(gateway, upstream, dialect):
    upstream.script(first="ok:one two three four five | cut:3", second=f"ok:{SAID}")
    queue = {Chat: "chat-complete", Messages: "claude-complete"}[dialect]
    answer = dialect(gateway, queue=queue).stream()
    assert answer.text == SAID
    assert answer.ending == dialect.whole


@dialects
@pytest.mark.parametrize("way", ["ask", "stream"])
def test_r07_a_hiccup_is_retried_on_the_same_candidate(gateway, upstream, dialect, way):
    upstream.script(first=f"500; ok:{SAID}")
    answer = getattr(dialect(gateway), way)()
    assert answer.text == SAID
    assert answer.model == "first"
    assert upstream.asked() == ["first", "first"]
    first, again = upstream.log()
    assert first["body"] == again["body"]


@dialects
def test_r17_the_conversation_leaves_a_broken_candidate_alone(gateway, upstream, dialect):
    upstream.script(first="quota", second="ok")
    client = dialect(gateway)
    client.stream()
    before = upstream.asked().count("first")
    client.stream()
    assert upstream.asked().count("first") == before
    assert upstream.asked()[-1] == "second"


@dialects
def test_r33_why_tells_what_became_of_it(gateway, upstream, dialect):
    upstream.script(first="quota", second="ok")
    dialect(gateway).stream()
    told = gateway.why("last")
    assert "out of quota" in told
    assert "first" in told and "second" in told
    assert told.index("first") < told.index("second")
