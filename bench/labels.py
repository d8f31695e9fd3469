"""The counting loop of `labels build` with Python's json: counts match, partial and null candidates (method.md section 3) of a file in
HotpotQA's official form. Prints one JSON object: candidates, seconds, peak memory in bytes."""

import html
import json
import re
import resource
import sys
import time
import unicodedata


def title_form(title):
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", html.unescape(title))).strip()


def sentence_form(sentence):
    folded = unicodedata.normalize("NFKC", sentence).casefold()
    return " ".join("".join(c for c in folded if not unicodedata.category(c).startswith("P")).split())


def count(records):
    match = partial = null = 0
    for record in records:
        pages = record["context"]
        titles = [title_form(title) for title, _ in pages]
        named = {title_form(title) for title, _ in record["supporting_facts"]}
        gold = set()
        for title, sentence in record["supporting_facts"]:
            same = [at for at, one in enumerate(titles) if one == title_form(title)]
            gold.update([(at, sentence) for at in same if 0 <= sentence < len(pages[at][1])][:1])
        if not gold or not named <= set(titles):
            continue
        texts = {sentence_form(pages[page][1][sentence]) for page, sentence in gold}
        gold_pages = {page for page, _ in gold}
        for page, (_, sentences) in enumerate(pages):
            for at, sentence in enumerate(sentences):
                if not sentence.strip():
                    continue
                if (page, at) in gold:
                    match += 1
                elif page in gold_pages:
                    partial += sentence_form(sentence) not in texts
                elif titles[page] not in named:
                    null += sentence_form(sentence) not in texts
    return {"match": match, "partial": partial, "null": null}


def main():
    started = time.perf_counter()
    with open(sys.argv[1], encoding="utf-8") as file:
        candidates = count(json.load(file))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"candidates": candidates, "seconds": seconds, "peak": peak}))


main()
