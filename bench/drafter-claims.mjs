// Training claims for a drafter as JSON lines on stdout: node bench/drafter-claims.mjs SPEC…, where SPEC is FILE[@FIELD][:A..B].
// FILE is the claims.jsonl of a claims folder (a question's claims are its sub-questions, or else its titles; A..B are rows of the source), or JSON
// lines of questions, whose claims stand in FIELD (A..B are lines). MuSiQue's ` >> ` is read as a space, as in the gold claims of a run.
import { readFileSync } from 'node:fs';

for (const spec of process.argv.slice(2)) {
  const [, file, field, from, to] = /^(.+?)(?:@(\w+))?(?::(\d+)\.\.(\d+))?$/.exec(spec);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
  const questions = new Map();
  for (const [at, line] of lines.entries()) {
    const row = field ? at : line.row;
    if (from !== undefined && (row < Number(from) || row >= Number(to))) continue;
    const claims = field ? line[field] : [...(questions.get(row)?.claims ?? []), line.subquestion ?? line.page];
    questions.set(row, { question_id: line.question_id, question: line.question, claims });
  }
  for (const one of questions.values()) {
    process.stdout.write(`${JSON.stringify({ ...one, claims: one.claims.map((claim) => claim.replaceAll(' >> ', ' ')) })}\n`);
  }
}
