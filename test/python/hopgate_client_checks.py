"""Drives examples/python/hopgate_client.py against the service whose address stdin gives, and prints what came back as JSON."""

import json
import sys

given = json.load(sys.stdin)
sys.path.insert(0, given["folder"])

from hopgate_client import HopgateClient, HopgateError  # noqa: E402

client = HopgateClient(given["url"], token=given["token"])
seen = {"ready": client.ready()}


def refused(call):
    try:
        call()
    except HopgateError as error:
        return {"status": error.status, "code": error.code, "field": error.field}
    return None


with client.open("Who wrote Dune?", question_id="q1", claims=["Frank Herbert wrote Dune."]) as session:
    first = session.observe([{"title": "Dune", "text": "Frank Herbert wrote Dune."}], query="author of Dune", tokens=5)
    # The reply was lost: the same search again.
    session.searches -= 1
    again = session.observe([{"title": "Dune", "text": "Frank Herbert wrote Dune."}], query="author of Dune", tokens=5)
    seen["first"] = [first.loop, first.action, first.covered, first.replayed, first.new_sentences]
    seen["again"] = [again.loop, again.action, again.covered, again.replayed, again.new_sentences]
    ruled = session.verdict(True, p=0.9)
    seen["ruled"] = [ruled.covered, ruled.stopped_by, ruled.final_instruction]
    seen["state"] = {name: session.state()[name] for name in ("loops", "calls", "tokens", "sentences", "question_id")}
seen["summary"] = {name: session.summary[name] for name in ("stopped_by", "loops", "calls", "tokens")}
seen["closed_again"] = client.request("DELETE", f"/v1/sessions/{session.id}") == session.summary
seen["ended"] = refused(lambda: session.observe(["More."]))
seen["unknown"] = refused(lambda: client.request("GET", "/v1/sessions/nobody"))
seen["invalid"] = refused(lambda: client.open("Who?", bounds={"maxSteps": 0}))
seen["unauthorised"] = refused(lambda: HopgateClient(given["url"], token="wrong").open("Who?"))
seen["batch"] = [one["status"] for one in client.batch([{"op": "open", "question": "Who?"}, {"op": "get", "session": "nobody"}])]
unreachable = HopgateClient("http://127.0.0.1:9", retries=0, timeout=2)
seen["unreachable"] = unreachable.ready()
print(json.dumps(seen))
