"""The Python libraries, each as a small agent: it asks, reads the note when it is told to, and asks
again. Reads jobs as JSON from its input, writes one line of JSON for each."""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

TURNS_MAX = 4
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
ABOUT = "Reads the note"
FUNCTION = {"type": "function", "function": {"name": "read_note", "description": ABOUT, "parameters": PARAMETERS}}


def with_openai(told, queue, stream, out):
    client = openai.OpenAI(base_url=f"{told['base']}/v1", api_key=told["key"])
    messages = [{"role": "user", "content": told["prompt"]}]
    while out["turns"] < TURNS_MAX:
        out["turns"] += 1
        out["text"], out["finish"], calls = "", None, {}
        answer = client.chat.completions.create(model=queue, messages=messages, tools=[FUNCTION], stream=stream)
        if stream:
            for chunk in answer:
                for choice in chunk.choices:
                    out["text"] += choice.delta.content or ""
                    out["finish"] = choice.finish_reason or out["finish"]
                    for part in choice.delta.tool_calls or []:
                        call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                        call["arguments"] += part.function.arguments or ""
        else:
            choice = answer.choices[0]
            out["text"], out["finish"] = choice.message.content or "", choice.finish_reason
            for index, call in enumerate(choice.message.tool_calls or []):
                calls[index] = {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        if out["finish"] != "tool_calls":
            return
        shown = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in calls.values()
        ]
        messages.append({"role": "assistant", "content": out["text"] or None, "tool_calls": shown})
        for call in calls.values():
            json.loads(call["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told["note"]})


def with_anthropic(told, queue, stream, out):
    client = anthropic.Anthropic(base_url=told["base"], api_key=told["key"])
    messages = [{"role": "user", "content": told["prompt"]}]
    tools = [{"name": "read_note", "description": ABOUT, "input_schema": PARAMETERS}]
    while out["turns"] < TURNS_MAX:
        out["turns"] += 1
        out["text"], out["finish"] = "", None
        body = {"model": queue, "max_tokens": 500, "messages": messages, "tools": tools}
        if stream:
            with client.messages.stream(**body) as running:
                for text in running.text_stream:
                    out["text"] += text
                answer = running.get_final_message()
        else:
            answer = client.messages.create(**body)
        out["text"] = "".join(block.text for block in answer.content if block.type == "text")
        out["finish"] = answer.stop_reason
        if out["finish"] != "tool_use":
            return
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": told["note"]}
            for block in answer.content if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


def with_langchain(model):
    def run(told, queue, stream, out):
        chat = model(told, queue).bind_tools([FUNCTION])
        messages = [HumanMessage(told["prompt"])]
        while out["turns"] < TURNS_MAX:
            out["turns"] += 1
            out["text"], out["finish"], answer = "", None, None
            if stream:
                for chunk in chat.stream(messages):
                    out["text"] += said(chunk.content)
                    answer = chunk if answer is None else answer + chunk
            else:
                answer = chat.invoke(messages)
                out["text"] = said(answer.content)
            about = answer.response_metadata
            out["finish"] = about.get("finish_reason") or about.get("stop_reason")
            if not answer.tool_calls:
                return
            messages.append(answer)
            messages += [ToolMessage(told["note"], tool_call_id=call["id"]) for call in answer.tool_calls]

    return run


def said(content):
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else part.get("text", "") for part in content)


def chat_openai(told, queue):
    return ChatOpenAI(model=queue, base_url=f"{told['base']}/v1", api_key=told["key"])


def chat_anthropic(told, queue):
    return ChatAnthropic(model=queue, base_url=told["base"], api_key=told["key"], max_tokens=500)


CLIENTS = {
    "openai-py": with_openai,
    "anthropic-py": with_anthropic,
    "langchain-py-openai": with_langchain(chat_openai),
    "langchain-py-anthropic": with_langchain(chat_anthropic),
}
WRITING = threading.Lock()


def done(told, job):
    out = {**job, "text": "", "finish": None, "error": None, "turns": 0}
    began = time.monotonic()
    try:
        CLIENTS[job["client"]](told, job["queue"], job["way"] == "stream", out)
    except Exception as error:  # whatever a library throws is what it tells its user
        status = getattr(error, "status_code", None) or ""
        out["error"] = f"{type(error).__name__} {status} {str(error)[:300]}"
    out["ms"] = round((time.monotonic() - began) * 1000)
    with WRITING:
        print(json.dumps(out), flush=True)


def main():
    told = json.load(sys.stdin)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda job: done(told, job), told["jobs"]))


main()
