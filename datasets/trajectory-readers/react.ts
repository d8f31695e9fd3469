import { shown } from '../../src/core/errors.js';
import { BadRecord } from '../readers/fields.js';
import { blockDocuments } from './documents.js';
import { type ReadTrajectory, type TrajectoryReader, readHead, readTranscript } from './trajectory.js';

/**
 * The reader of ReAct transcripts: `Thought n:`, `Action n: Search[query]` (or `Action: Search` and `Action Input: query`), `Observation n:`,
 * `Action n: Finish[answer]` (or `Final Answer:`). A search and its observation are one loop. An observation that is one of the block layouts
 * gives its documents; any other text is one document, whose title is what was searched for (ReAct's environment shows the page of that name);
 * a lookup's belongs to the page searched last. `Could not find` and `No more results` are no document. Other actions are passed over and
 * listed.
 */
export function reactReader(field?: string): TrajectoryReader {
  return (value) => {
    const head = readHead(value);
    const transcript = readTranscript(value, field, head.question);
    return { ...head, ...readReact(transcript.text, transcript.field), transcript: transcript.text };
  };
}

type ReadReact = Pick<ReadTrajectory, 'loops' | 'answer' | 'stop' | 'recognised' | 'repairs'>;

function readReact(text: string, field: string): ReadReact {
  const read: ReadReact = { loops: [], answer: null, stop: 'cut_off', recognised: false, repairs: [] };
  const repair = (reason: string, detail: string): unknown => read.repairs.push({ reason, detail, field });
  let tool: string | undefined;
  let asked: { name: string; query: string } | undefined;
  let entity = '';
  /** The observation belongs to an action that is no search, which was listed. */
  let passed = false;
  const act = (name: string, argument: string): void => {
    if (asked) repair('query_without_documents', `query ${shown(asked.query, 60)} has no observation`);
    [asked, passed] = [undefined, false];
    if (/^finish$/i.test(name)) read.answer = argument;
    else if (/^(search|lookup)$/i.test(name)) asked = { name: name.toLowerCase(), query: argument };
    else {
      repair('other_action', `action ${shown(name, 60)} is no search`);
      passed = true;
    }
  };
  for (const { label, content } of sections(text)) {
    read.recognised = true;
    if (label === 'action') {
      const [, name, argument] = /^(\w[\w ]*?)\s*\[(.*)\]\s*$/s.exec(content) ?? [];
      tool = undefined;
      if (name !== undefined && argument !== undefined) act(name, argument.trim());
      else if (/^\w[\w ]*$/.test(content)) tool = content;
      else repair('other_action', `action ${shown(content, 60)} has no known form`);
    } else if (label === 'action input') {
      if (tool !== undefined) act(tool, content);
      tool = undefined;
    } else if (label === 'final answer') read.answer = content;
    else if (label === 'observation') {
      if (asked) {
        if (asked.name === 'search') entity = asked.query;
        read.loops.push({ query: asked.query, subAnswer: null, documents: observed(content, entity) });
      } else if (!passed && read.answer === null) throw new BadRecord('bad_marks', 'an observation without an action before it', field);
      [asked, passed] = [undefined, false];
    }
  }
  if (asked) repair('query_without_documents', `query ${shown(asked.query, 60)} has no observation`);
  if (read.answer !== null) read.stop = 'answered';
  return read;
}

const LABEL = /^[ \t]*(Thought|Action Input|Action|Observation|Final Answer)(?: ?\d+)?[ \t]*:[ \t]*/gim;

function* sections(text: string): Generator<{ label: string; content: string }> {
  const labels = [...text.matchAll(LABEL)];
  for (const [at, match] of labels.entries()) {
    const content = text.slice(match.index + match[0].length, labels[at + 1]?.index ?? text.length).trim();
    yield { label: (match[1] as string).toLowerCase(), content };
  }
}

function observed(content: string, title: string): ReadTrajectory['loops'][number]['documents'] {
  if (content === '' || /^(could not find|no more results)/i.test(content)) return [];
  const text = content.replace(/^\(Result \d+ \/ \d+\)\s*/i, '');
  return blockDocuments(content) ?? [{ title, text, score: 0 }];
}
