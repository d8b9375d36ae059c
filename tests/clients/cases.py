"""What goes wrong. `T` is a step that calls a tool, `A` the answer, `P` an answer that is not whole."""

import json

# name, first candidate, second candidate, and what may be hoped for:
#   whole  nobody notices: the right answer and nothing else
#   told   the client hears of it; what it makes of it is its own affair, but it must not pass for whole
#   as-is  the client gets what the model said (a truncation), and goes on as it likes
#   failed no candidate can answer: the client must say so, and soon
CASES = [
    ("plain", "T; A", "A", "whole"),
    ("429", "429:20", "T; A", "whole"),
    ("500", "500", "T; A", "whole"),
    ("529", "529", "T; A", "whole"),
    ("reset", "reset", "T; A", "whole"),
    ("hang", "hang", "T; A", "whole"),
    ("empty", "empty", "T; A", "whole"),
    ("error-event", "error:overloaded", "T; A", "whole"),
    ("cut-early", "cut:0", "T; A", "whole"),
    ("cut-tool", "T | cut:1", "T; A", "told"),
    ("mid-task", "T; 500", "A", "whole"),
    ("mid-think", "T | think:Let me see what there is to read.; 500", "A", "whole"),
    ("stall-early", "T; silent", "A", "whole"),
    ("cut-held", "T; P | cut:4", "A", "whole"),
    ("cut-late", "T; P | cut:4", "A", "told"),
    ("stall-late", "T; P | silence:4", "A", "told"),
    ("truncated", "T; P | length; A", "A", "as-is"),
    ("overflow", "T; overflow; S; A", "A", "as-is"),
    ("all-quota", "quota", "quota", "failed"),
    ("all-503", "503", "503", "failed"),
]
HELD = {"cut-held"}
# Clients obey a Retry-After, and a minute of it three times over is long.
SOON = {"all-503"}
SECRET = "MANGO-4127"
ANSWER = f"The note names {SECRET} and nothing more."
PART = "Perhaps the note could be read as a list of several fruits"
SUMMARY = "<summary>The note was read: it names a fruit. The answer is still to be given.</summary>"
LONG = " ".join(f"word{number}" for number in range(400))
PROMPT = "Read the file note.txt with a tool, then tell me what it names."


def script(text, tool, answer=ANSWER, part=PART):
    """A script with its letters replaced; a client without tools gets none."""
    steps = []
    for step in text.split(";"):
        words = step.split("|")
        first = words[0].strip()
        if first == "T" and tool is None:
            # Only where the call itself breaks does its answer stand for it.
            if not any(word.strip().startswith("cut") for word in words):
                continue
            first = "P"
        said = {"T": f"tool:{tool}", "A": f"ok:{answer}", "P": f"ok:{part}", "S": f"ok:{SUMMARY}"}
        steps.append(" | ".join([said.get(first, first), *(word.strip() for word in words[1:])]))
    return "; ".join(steps)


def terms(name):
    """How the queue of a case differs from others."""
    commit = "complete" if name in HELD else "first-output"
    return {"commit": commit, "parole": "2s" if name in SOON else "1m"}


def shown(text):
    """What a text that is shown as the answer is made of."""
    part = " ".join(PART.split()[:2]) in text
    if ANSWER in text:
        return "mixed" if part else "whole"
    return "part" if part else "none"


def foreign(seen):
    """Whether a candidate was sent what another one had signed."""
    for request in seen:
        if request["body"] and (request["model"] or "").endswith("-b"):
            text = json.dumps(request["body"])
            if f"sim-signature-{request['model'][:-2]}-a" in text:
                return True
    return False
