"""What the libraries make of whole answers: tools, usage, models, token counts."""

import pytest

from dialects import QUESTION, Chat, Messages

dialects = pytest.mark.parametrize("dialect", [Chat, Messages])
TOOL = "tool:read {\"path\": \"leg-4.txt\"}"


def test_g01_tool_calls_arrive_whole_in_chat(gateway, upstream):
    upstream.script(first="error:overloaded", second=TOOL)
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    with gateway.openai().chat.completions.stream(model="chat", messages=QUESTION, tools=tools) as stream:
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls"
    call = choice.message.tool_calls[0].function
    assert (call.name, call.arguments) == ("read", "{\"path\": \"leg-4.txt\"}")


def test_g01_tool_calls_arrive_whole_in_messages(gateway, upstream):
    upstream.script(first="error:overloaded", second=TOOL)
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    with gateway.anthropic().messages.stream(
        model="claude", max_tokens=100, messages=QUESTION, tools=tools
    ) as stream:
        answer = stream.get_final_message()
    assert answer.stop_reason == "tool_use"
    call = next(block for block in answer.content if block.type == "tool_use")
    assert (call.name, call.input) == ("read", {"path": "leg-4.txt"})


def test_g01_usage_comes_to_those_who_asked_for_it_and_to_nobody_else(gateway, upstream):
    upstream.script(first="ok:Yes. | usage:12/34")
    client = gateway.openai()

    def usage(**extra):
        asked = client.chat.completions.create(model="chat", messages=QUESTION, stream=True, **extra)
        return [chunk.usage for chunk in asked if chunk.usage]

    told = usage(stream_options={"include_usage": True})
    assert [(one.prompt_tokens, one.completion_tokens) for one in told] == [(12, 34)]
    assert usage() == []


@dialects
def test_g05_the_headers_name_call_candidate_and_attempts(gateway, upstream, dialect):
    upstream.script(first="401", second="ok")
    client = dialect(gateway)
    if dialect is Chat:
        raw = client.client.chat.completions.with_raw_response.create(model="chat", messages=QUESTION)
    else:
        raw = client.client.messages.with_raw_response.create(
            model="claude", max_tokens=100, messages=QUESTION
        )
    assert raw.headers["x-ekiden-candidate"].endswith("/second")
    assert int(raw.headers["x-ekiden-attempts"]) >= 2
    told = gateway.why(raw.headers["x-ekiden-call"])
    assert "key not accepted" in told


def test_g01_both_libraries_list_the_queues(gateway):
    queues = {"chat", "chat-complete", "claude", "claude-complete"}
    assert queues <= {model.id for model in gateway.openai().models.list()}
    assert queues <= {model.id for model in gateway.anthropic().models.list()}


def test_g01_tokens_are_counted(gateway, upstream):
    counted = gateway.anthropic().messages.count_tokens(model="claude", messages=QUESTION)
    assert counted.input_tokens > 0
