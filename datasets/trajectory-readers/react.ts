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
    else other(`action ${shown(name, 60)} is no search`);
  };
  const other = (detail: string): void => {
    if (asked) repair('query_without_documents', `query ${shown(asked.query, 60)} has no observation`);
    repair('other_action', detail);
    [asked, passed] = [undefined, true];
  };
  const withoutInput = (): void => {
    if (tool !== undefined) other(`action ${shown(tool, 60)} has no input`);
    tool = undefined;
  };
  for (const { label, content } of sections(text)) {
    read.recognised = true;
    if (label !== 'action input') withoutInput();
    if (label === 'action') {
      const action = actionIn(content);
      if (action) act(action.name, action.argument);
      else if (TOOL.test(content)) tool = content;
      else other(`action ${shown(content, 60)} has no known form`);
    } else if (label === 'action input') {
      if (tool !== undefined) act(tool, argumentIn(content));
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
  withoutInput();
  if (asked) repair('query_without_documents', `query ${shown(asked.query, 60)} has no observation`);
  if (read.answer !== null) read.stop = 'answered';
  return read;
}

const LABEL = /^[ \t]*(Thought|Action Input|Action|Observation|Final Answer)(?: ?\d+)?[ \t]*:[ \t]*/gim;
/** The name of an action alone; what it asks for stands under `Action Input`. */
const TOOL = /^\w[\w ]*$/;

/** The labelled parts. Passages have lines that begin like a label: in an observation an action is one only where it has an action's form. */
function* sections(text: string): Generator<{ label: string; content: string }> {
  const found = [...text.matchAll(LABEL)].map((match) => ({
    label: (match[1] as string).toLowerCase(),
    from: match.index,
    to: match.index + match[0].length,
  }));
  const contentOf = (at: number, all: typeof found): string => text.slice(all[at]?.to, all[at + 1]?.from ?? text.length).trim();
  const labels: typeof found = [];
  for (const [at, one] of found.entries()) {
    const content = contentOf(at, found);
    const isText =
      labels.at(-1)?.label === 'observation' &&
      (one.label === 'action input' || (one.label === 'action' && !isAction(content, found[at + 1]?.label)));
    if (!isText) labels.push(one);
  }
  for (const [at, { label }] of labels.entries()) yield { label, content: contentOf(at, labels) };
}

function isAction(content: string, next: string | undefined): boolean {
  return actionIn(content) !== null || (TOOL.test(content) && (next === 'action input' || KNOWN.test(content)));
}

const KNOWN = /^(?:search|lookup|finish)$/i;

/** `Search[query]`, whatever stands behind it, and of the known actions also `Search: query` and `Search(query)`. */
function actionIn(content: string): { name: string; argument: string } | null {
  const [line = ''] = content.split('\n', 1);
  const match =
    /^(\w[\w ]*?)\s*\[(.*)\][\s.,;:!"'`*]*$/s.exec(content) ??
    /^(\w[\w ]*?)\s*\[(.*)\]/.exec(line) ??
    /^(search|lookup|finish)\s*\((.*)\)[\s.,;:!"'`*]*$/is.exec(content) ??
    /^(search|lookup|finish)\s*:\s*(\S.*)$/i.exec(line);
  return match ? { name: match[1] as string, argument: argumentIn((match[2] as string).trim()) } : null;
}

/** Text as it is; of an object the one text that it holds, or the one under a name that tools give their input. */
function argumentIn(content: string): string {
  if (!content.startsWith('{')) return content;
  let fields: [string, unknown][];
  try {
    fields = Object.entries(JSON.parse(content) as { [name: string]: unknown });
  } catch {
    return content;
  }
  const texts = fields.filter((one): one is [string, string] => typeof one[1] === 'string');
  const [, text] = texts.find(([name]) => ARGUMENTS.has(name.toLowerCase())) ?? (texts.length === 1 ? texts[0] : undefined) ?? [];
  return text === undefined ? content : text.trim();
}

const ARGUMENTS = new Set(['query', 'search_query', 'input', 'answer', 'entity', 'keyword', 'q']);

function observed(content: string, title: string): ReadTrajectory['loops'][number]['documents'] {
  if (content === '' || /^(could not find|no more results)/i.test(content)) return [];
  const text = content.replace(/^\(Result \d+ \/ \d+\)\s*/i, '');
  return blockDocuments(content) ?? [{ title, text, score: 0 }];
}
