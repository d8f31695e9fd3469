"""A client of `hopgate serve`, with Python's standard library alone.

    hopgate serve --decider host --claims heuristic --log gate.jsonl

    client = HopgateClient("http://127.0.0.1:8787")
    with client.open("Where was the author of Dune born?") as session:
        seen = session.observe(["Frank Herbert wrote Dune."], query="author of Dune")
        if seen.action == "call":                 # ask your own verifier, and hand its verdict in
            seen = session.verdict(covered=False)
        if seen.stopped_by is not None:
            print(seen.final_instruction)         # goes to your model, which answers now

Every request may safely be sent again: a session has an id of the client's own, and every search and verdict its number.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union
from urllib.parse import urlsplit

Evidence = Union[str, Sequence[Union[str, Mapping[str, Any]]]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TRY_AGAIN = ("rate_limited", "session_busy", "too_many_sessions")


class HopgateError(Exception):
    """The service refused a request. `code` tells refusals apart; `session_unknown` after a restart of the service."""

    def __init__(self, status: int, error: Mapping[str, Any], retry_after: float = 1.0) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.status = status
        self.code: str = error.get("code", "internal")
        self.field: Optional[str] = error.get("field")
        self.expected: Optional[str] = error.get("expected")
        self.got: Optional[str] = error.get("got")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Observation:
    """What gate and decider say after one search."""

    loop: int
    action: str  # "skip", or "call": with `--decider host`, your verdict is waited for
    margin: Optional[float]
    per_claim: Sequence[float]
    covered: Optional[bool]
    stopped_by: Optional[str]  # covered, budget, maxSteps, noProgress, error, hostFinished
    bound: Optional[str]
    new_sentences: int
    why: str
    error: Optional[str]
    final_instruction: Optional[str]  # set once the run has stopped
    replayed: bool

    @staticmethod
    def of(body: Mapping[str, Any]) -> "Observation":
        # Fields of a newer service are left out.
        return Observation(**{name: body.get(name) for name in Observation.__dataclass_fields__})


class HopgateClient:
    """One service. Holds no connection and no state but its address, so threads may share it."""

    def __init__(self, url: str, *, token: Optional[str] = None, timeout: float = 90.0, retries: int = 2) -> None:
        self.url = url.rstrip("/")
        self.token = token if token is not None else os.environ.get("HOPGATE_TOKEN")
        self.timeout = timeout
        self.retries = retries
        direct = urlsplit(self.url).hostname in LOOPBACK
        self._opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if direct else []))

    def open(
        self,
        question: str,
        *,
        question_id: Optional[str] = None,
        claims: Optional[Sequence[Union[str, Mapping[str, Any]]]] = None,
        bounds: Optional[Mapping[str, Optional[float]]] = None,
    ) -> "Session":
        """Opens a session: one question of an agent. `claims`: what the evidence has to establish, one for each hop."""
        body = {"question": question, "session": str(uuid.uuid4())}
        more = {"question_id": question_id, "claims": claims, "bounds": bounds}
        body.update({name: value for name, value in more.items() if value is not None})
        return Session(self, self.request("POST", "/v1/sessions", body)["session"])

    def batch(self, requests: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Several requests in one; each result has a `status` and a `body` of its own."""
        return self.request("POST", "/v1/batch", {"requests": list(requests)})["results"]

    def ready(self) -> bool:
        try:
            return self.request("GET", "/readyz")["status"] == "ready"
        except (HopgateError, OSError):
            return False

    def request(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        """Sends a request, again where the way there failed or the service asks for patience. Raises HopgateError, or OSError."""
        for left in range(self.retries, -1, -1):
            try:
                return self._once(method, path, body)
            except HopgateError as refused:
                if refused.code not in TRY_AGAIN or left == 0:
                    raise
                time.sleep(refused.retry_after)
            except OSError:
                if left == 0:
                    raise
                time.sleep(0.2)
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, body: Optional[Mapping[str, Any]]) -> Any:
        request = urllib.request.Request(self.url + path, method=method)
        if body is not None:
            request.data = json.dumps(body, allow_nan=False).encode("utf-8")
            request.add_header("content-type", "application/json")
        if self.token:
            request.add_header("authorization", f"Bearer {self.token}")
        try:
            with self._opener.open(request, timeout=self.timeout) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as refused:
            raise _refusal(refused) from None


class Session:
    """One question. As a context manager it is closed at the end, and `summary` says how it went."""

    def __init__(self, client: HopgateClient, session: str) -> None:
        self.client = client
        self.id = session
        self.searches = 0
        self.last: Optional[Observation] = None
        self.summary: Optional[Mapping[str, Any]] = None

    def observe(
        self,
        evidence: Evidence,
        *,
        query: Optional[str] = None,
        sub_answer: Optional[str] = None,
        tokens: Optional[int] = None,
    ) -> Observation:
        """Hands in what one search brought: a text, which is split into sentences, or the sentences ({"title", "text"} or text)."""
        step = self.searches + 1
        body = {"evidence": evidence, "query": query, "sub_answer": sub_answer, "tokens": tokens, "step": step}
        self.last = Observation.of(self._post("observe", {name: value for name, value in body.items() if value is not None}))
        self.searches = step
        return self.last

    def verdict(self, covered: bool, p: Optional[float] = None) -> Observation:
        """The verdict of your own verifier, after an observation with action "call"."""
        body = {"covered": covered, "p": p, "step": self.last.loop if self.last else self.searches}
        self.last = Observation.of(self._post("verdict", body))
        return self.last

    def wants_to_stop(self) -> Optional[str]:
        """Your agent is about to end by itself: a message for your model to go on with (`--force-continue`), or None: let it end."""
        return self._post("stop", {})["message"]

    def state(self) -> Mapping[str, Any]:
        return self.client.request("GET", f"/v1/sessions/{self.id}")

    def close(self) -> Mapping[str, Any]:
        if self.summary is None:
            self.summary = self.client.request("DELETE", f"/v1/sessions/{self.id}")
        return self.summary

    def _post(self, operation: str, body: Mapping[str, Any]) -> Any:
        return self.client.request("POST", f"/v1/sessions/{self.id}/{operation}", body)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self.close()
        except HopgateError as refused:
            # Nothing is left to close, and the agent's own error must not be hidden behind it.
            if refused.code not in ("session_unknown", "session_ended"):
                raise


def _refusal(refused: urllib.error.HTTPError) -> HopgateError:
    with refused:
        text = refused.read().decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        # Not the service: a proxy in between, perhaps.
        error = {"code": "internal", "message": f"HTTP {refused.code}: {text[:200]}"}
    try:
        retry_after = float(refused.headers.get("retry-after", "1"))
    except ValueError:
        retry_after = 1.0
    return HopgateError(refused.code, error, retry_after)


def main() -> None:
    parser = argparse.ArgumentParser(description="Asks a running hopgate serve about one question's evidence, given as sentences.")
    parser.add_argument("question")
    parser.add_argument("sentences", nargs="+", help="each is what one search brought")
    parser.add_argument("--url", default="http://127.0.0.1:8787")
    arguments = parser.parse_args()
    with HopgateClient(arguments.url).open(arguments.question) as session:
        for sentence in arguments.sentences:
            seen = session.observe([sentence], query=arguments.question)
            print(f"search {seen.loop}: {seen.action}, margin {seen.margin}, stopped by {seen.stopped_by}")
            if seen.stopped_by is not None:
                break
    print(json.dumps(session.summary))


if __name__ == "__main__":
    main()
