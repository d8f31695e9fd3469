"""A plain ReAct agent (thought, action, observation) with hopgate's stop in it.

The three places that a ReAct loop of your own has to change are marked with `gate:`. The model here is a script over a small library of
pages, so that the example runs anywhere; put any function from a prompt to a text in its place.

    hopgate serve --decider host --claims heuristic
    python react_agent.py --url http://127.0.0.1:8787
"""

from __future__ import annotations

import argparse
import json
import re
from typing import Callable, Mapping, Sequence

from hopgate_client import HopgateClient, Session

Model = Callable[[str], str]
Search = Callable[[str], Sequence[Mapping[str, str]]]
Verifier = Callable[[str, Sequence[str]], bool]

QUESTION = "In which city was the author of The Lantern Keeper born?"
PAGES = {
    "The Lantern Keeper": "The Lantern Keeper is a novel by Odile Varga.",
    "Odile Varga": "Odile Varga was born in the city of Brenna.",
    "Brenna": "Brenna lies on the river Tal.",
}


def react(question: str, *, model: Model, search: Search, verifier: Verifier, session: Session, limit: int = 12) -> str:
    """Runs the loop until the gate stops it, or the model ends by itself, and returns the answer."""
    prompt = f"Question: {question}\n"
    found: list[str] = []
    for _ in range(limit):
        step = model(prompt)
        prompt += step + "\n"
        action = re.search(r"Action: search\[(.+?)\]", step)
        if action is None:
            # gate: the model is about to end by itself; with --force-continue it may be told, once, to go on.
            message = session.wants_to_stop()
            if message is None:
                return answer_in(step)
            prompt += f"Observation: {message}\n"
            continue
        pages = search(action.group(1))
        found += [page["text"] for page in pages]
        prompt += "Observation: " + " ".join(page["text"] for page in pages) + "\n"
        # gate: what the search brought; the verifier, which costs, is only asked when the gate says so.
        seen = session.observe(pages, query=action.group(1))
        if seen.action == "call" and seen.covered is None and seen.stopped_by is None:
            seen = session.verdict(verifier(question, found))
        if seen.stopped_by is not None:
            # gate: no further search is run, and the model is asked for its answer.
            return answer_in(model(f"{prompt}{seen.final_instruction}\n"))
    return answer_in(model(f"{prompt}Answer now.\n"))


def answer_in(step: str) -> str:
    answer = re.search(r"Answer: (.+)", step)
    return (answer.group(1) if answer else step).strip()


def scripted_model(prompt: str) -> str:
    """Searches page after page, as far as it is let: it would look up the river as well."""
    known = [text for text in PAGES.values() if text in prompt]
    if "Answer the question now" in prompt or "Answer now" in prompt:
        born = re.search(r"born in the city of (\w+)", prompt)
        return f"Thought: I was asked to answer.\nAnswer: {born.group(1) if born else 'unknown'}"
    titles = list(PAGES)
    if len(known) < len(titles):
        return f"Thought: I need another page.\nAction: search[{titles[len(known)]}]"
    return "Thought: I have read everything.\nAnswer: Brenna"


def library(query: str) -> Sequence[Mapping[str, str]]:
    return [{"title": title, "text": text} for title, text in PAGES.items() if title == query]


def word_verifier(_question: str, found: Sequence[str]) -> bool:
    """Your verifier stands here: a trained one, a prompt, a cross-encoder."""
    return any("novel by" in text for text in found) and any("born in" in text for text in found)


def main() -> None:
    parser = argparse.ArgumentParser(description="A ReAct agent over a small library, stopped by hopgate serve.")
    parser.add_argument("--url", default="http://127.0.0.1:8787")
    arguments = parser.parse_args()
    asked: list[int] = []

    def verifier(question: str, found: Sequence[str]) -> bool:
        asked.append(len(found))
        return word_verifier(question, found)

    with HopgateClient(arguments.url).open(QUESTION) as session:
        answer = react(QUESTION, model=scripted_model, search=library, verifier=verifier, session=session)
    print(json.dumps({"answer": answer, "verifier_calls": len(asked), "summary": session.summary}))


if __name__ == "__main__":
    main()
