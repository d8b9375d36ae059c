"""The two libraries behind one face, so that a claim is made once and holds for both."""

import anthropic
import openai

QUESTION = [{"role": "user", "content": "Who runs the last leg?"}]


class Chat:
    """The `openai` package, Chat Completions."""

    errors = openai
    truncated = "length"
    whole = "stop"

    def __init__(self, gateway, queue="chat", **options):
        self.client = gateway.openai(**options)
        self.queue = queue

    def ask(self, messages=QUESTION, **extra):
        answer = self.client.chat.completions.create(model=self.queue, messages=messages, **extra)
        choice = answer.choices[0]
        return Answer(choice.message.content or "", choice.finish_reason, answer.model)

    def stream(self, messages=QUESTION, heard=None, **extra):
        heard = [] if heard is None else heard
        ending, model = None, None
        asked = self.client.chat.completions.create(
            model=self.queue, messages=messages, stream=True, **extra
        )
        for chunk in asked:
            model = chunk.model or model
            for choice in chunk.choices:
                heard.append(choice.delta.content or "")
                ending = choice.finish_reason or ending
        return Answer("".join(heard), ending, model)


class Messages:
    """The `anthropic` package, Messages."""

    errors = anthropic
    truncated = "max_tokens"
    whole = "end_turn"

    def __init__(self, gateway, queue="claude", **options):
        self.client = gateway.anthropic(**options)
        self.queue = queue

    def ask(self, messages=QUESTION, **extra):
        extra.setdefault("max_tokens", 100)
        answer = self.client.messages.create(model=self.queue, messages=messages, **extra)
        text = "".join(block.text for block in answer.content if block.type == "text")
        return Answer(text, answer.stop_reason, answer.model)

    def stream(self, messages=QUESTION, heard=None, **extra):
        extra.setdefault("max_tokens", 100)
        heard = [] if heard is None else heard
        with self.client.messages.stream(model=self.queue, messages=messages, **extra) as stream:
            for text in stream.text_stream:
                heard.append(text)
            answer = stream.get_final_message()
        return Answer("".join(heard), answer.stop_reason, answer.model)


class Answer:
    def __init__(self, text, ending, model):
        self.text = text
        self.ending = ending
        self.model = model
