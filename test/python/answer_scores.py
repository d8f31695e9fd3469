"""Exact match and F1 of short answers, written from the published definition with Python's own string functions."""

import collections
import json
import re
import string
import sys


def normalise(text: str) -> str:
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(?:the|an|a)\b", " ", kept).split())


def f1(said: str, gold: str) -> float:
    if said != gold and {said, gold} & {"yes", "no", "noanswer"}:
        return 0.0
    ours, theirs = said.split(), gold.split()
    shared = sum((collections.Counter(ours) & collections.Counter(theirs)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(ours), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def main() -> None:
    scores = []
    for prediction, answers in json.load(sys.stdin):
        said = normalise(prediction)
        golds = [normalise(answer) for answer in answers]
        scores.append([max(float(said == gold) for gold in golds), max(f1(said, gold) for gold in golds)])
    json.dump(scores, sys.stdout)


if __name__ == "__main__":
    main()
