import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lineReader, parseTrainerLine } from '../../train/index.js';

const LOG = [
  'Loading weights: 10%\rLoading weights: 100%\r{"event": "stage", "name": "train"}\n',
  'a warning of a library: ä ÿ {"event": "step", "step": 1, "of": 2, "loss": 0.5, "lr": 0.0001}\r\n',
  '{"event": "news", "what": "unknown"}\n{"event": "step", "step": "two"}\n\n',
  '{"event": "warning", "message": "3 rows were cut"}\n{"event": "checkpoint", "step": 2}',
].join('');

test('events come out of a mixed log; what is no event comes out as it was', () => {
  const reader = lineReader();
  assert.deepEqual(
    [...reader.push(LOG), ...reader.end()],
    [
      { text: 'Loading weights: 10%' },
      { text: 'Loading weights: 100%' },
      { event: { event: 'stage', name: 'train' } },
      { text: 'a warning of a library: ä ÿ' },
      { event: { event: 'step', step: 1, of: 2, loss: 0.5, lr: 0.0001 } },
      { text: '{"event": "news", "what": "unknown"}' },
      { text: '{"event": "step", "step": "two"}' },
      { event: { event: 'warning', message: '3 rows were cut' } },
      { event: { event: 'checkpoint', step: 2 } },
    ],
  );
});

test('where the log is cut into pieces makes no difference', () => {
  const whole = lineReader();
  const expected = [...whole.push(LOG), ...whole.end()];
  fc.assert(
    fc.property(fc.array(fc.nat(LOG.length), { maxLength: 8 }), (cuts) => {
      const reader = lineReader();
      const lines = [];
      let from = 0;
      for (const cut of [...cuts.toSorted((a, b) => a - b), LOG.length]) {
        lines.push(...reader.push(LOG.slice(from, cut)));
        from = cut;
      }
      assert.deepEqual([...lines, ...reader.end()], expected);
    }),
  );
});

test('a line that only looks like an event is text', () => {
  for (const line of ['{"event":', '{"event": null}', 'x {"event": "step", "step": 1}'])
    assert.deepEqual(parseTrainerLine(line), [{ text: line }]);
});
