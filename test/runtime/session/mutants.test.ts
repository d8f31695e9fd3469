import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { repositoryRoot } from '../../support/root.js';

interface Mutant {
  is: string;
  file: string;
  from: string;
  to: string;
}

/** What a broken gate could be. Each changes one place of the compiled code, which has to stand there exactly once. */
const mutants: readonly Mutant[] = [
  {
    is: 'always says covered',
    file: 'runtime/session/decider-calls.js',
    from: "return { kind: 'verdict', verdict, ms: took() };",
    to: "return { kind: 'verdict', verdict: { ...verdict, covered: true }, ms: took() };",
  },
  {
    is: 'never says covered',
    file: 'runtime/session/decider-calls.js',
    from: "return { kind: 'verdict', verdict, ms: took() };",
    to: "return { kind: 'verdict', verdict: { ...verdict, covered: false }, ms: took() };",
  },
  {
    is: 'never calls the decider',
    file: 'runtime/gate/gate.js',
    from: "return roundMargin(margin) > tau ? 'skip' : 'call';",
    to: "return 'skip';",
  },
  {
    is: 'always calls the decider',
    file: 'runtime/gate/gate.js',
    from: "return roundMargin(margin) > tau ? 'skip' : 'call';",
    to: "return 'call';",
  },
  {
    is: 'skips at a margin of exactly τ',
    file: 'runtime/gate/gate.js',
    from: "return roundMargin(margin) > tau ? 'skip' : 'call';",
    to: "return roundMargin(margin) >= tau ? 'skip' : 'call';",
  },
  {
    is: 'ignores new evidence in the margin',
    file: 'runtime/session/open-session.js',
    from: 'unembedded = [...unembedded, ...fresh];',
    to: 'unembedded = [...unembedded, ...(history.length > 1 ? [] : fresh)];',
  },
  {
    is: 'ignores new evidence at the decider',
    file: 'runtime/session/decider-calls.js',
    from: 'ruling.call(history,',
    to: 'ruling.call(history.slice(0, 1),',
  },
  {
    is: 'is one step late',
    file: 'runtime/session/open-session.js',
    from: 'gateDecision(state, gate.tau);',
    to: 'gateDecision(history.late ?? 2, gate.tau); history.late = state;',
  },
  {
    is: 'leaks evidence between sessions',
    file: 'runtime/session/open-session.js',
    from: 'const { id, question, mode, runOn, bounds, margin, store } = start;',
    to: 'const { id, question, mode, runOn, bounds } = start; globalThis.leaked ??= start; const { margin, store } = globalThis.leaked;',
  },
  {
    is: 'leaks the decider’s state between sessions',
    file: 'runtime/session/decider-calls.js',
    from: 'ruling ??= decider.open({ id, question, claims });',
    to: 'globalThis.ruling ??= decider.open({ id, question, claims }); ruling = globalThis.ruling;',
  },
  {
    is: 'goes on after coverage',
    file: 'runtime/session/run-ledger.js',
    from: "stop('covered');",
    to: '{}',
  },
  {
    is: 'takes a failed decider for coverage',
    file: 'runtime/session/decider-calls.js',
    from: "return { kind: 'failed', stage, reason, ms: took() };",
    to: "return { kind: 'verdict', verdict: { covered: true, p: null, matched: null, pairs: null, tokens: 0 }, ms: took() };",
  },
  {
    is: 'takes an empty claim list for coverage',
    file: 'runtime/session/run-ledger.js',
    from: 'verdict: { covered: false, p: null, matched: [], pairs: 0, tokens: 0 }',
    to: 'verdict: { covered: true, p: null, matched: [], pairs: 0, tokens: 0 }',
  },
  {
    is: 'does not hold its bound on steps',
    file: 'runtime/session/run-ledger.js',
    from: 'loops >= bounds.maxSteps',
    to: 'loops > bounds.maxSteps',
  },
  {
    is: 'sees no lack of progress',
    file: 'runtime/session/run-ledger.js',
    from: 'brought === 0 ? idle + 1 : 0',
    to: '0',
  },
  {
    is: 'tells an agent to go on again and again',
    file: 'runtime/session/open-session.js',
    from: 'told = true;',
    to: '',
  },
  {
    is: 'audits nothing',
    file: 'runtime/session/open-session.js',
    from: "because: 'audit' } : {",
    to: "because: 'audit' } && { asked: false, because: 'gate' } : {",
  },
  {
    is: 'runs the searches of one step beside each other',
    file: 'runtime/session/open-session.js',
    from: 'const mine = turn.then(() => inside(id, work));',
    to: 'const mine = inside(id, work);',
  },
];

const built = join(repositoryRoot, 'build');
const suite = join(built, 'test', 'runtime', 'session', 'session-suite.js');

test('the suite passes as it is', async () => {
  assert.equal(await passes(null), true);
});

for (const mutant of mutants) {
  test(`P93: a gate that ${mutant.is} makes the suite fail`, async () => {
    const source = await readFile(join(built, mutant.file), 'utf8');
    assert.equal(source.split(mutant.from).length, 2, `${mutant.file} holds ${JSON.stringify(mutant.from)} exactly once`);
    assert.equal(await passes(mutant), false);
  });
}

/** Whether the session's tests pass with this mutant in place of the real code. */
async function passes(mutant: Mutant | null): Promise<boolean> {
  const register = pathToFileURL(join(built, 'test', 'support', 'mutant-register.js')).href;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', register, suite], {
    env: { ...env, HOPGATE_MUTATION: JSON.stringify(mutant) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  // A mutant may wait for ever, which is a failure too.
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  // It failed because a test did, not because the mutant could not even be loaded.
  if (code !== 0 && code !== null) assert.match(output, /AssertionError|ERR_ASSERTION|ERR_TEST_FAILURE/, output.slice(0, 2000));
  assert.doesNotMatch(output, /SyntaxError/);
  return code === 0;
}
