import { z } from 'zod';

const text = z.string();
const number = z.number();

/** The lines that the trainer prints, one JSON object each. Fields beside these are kept as they are. */
export const trainerEvent = z.discriminatedUnion('event', [
  z.looseObject({ event: z.literal('stage'), name: text }),
  z.looseObject({ event: z.literal('step'), step: z.int(), of: z.int(), loss: z.nullable(number).optional(), lr: number.optional() }),
  z.looseObject({ event: z.literal('checkpoint'), step: z.int() }),
  z.looseObject({ event: z.literal('resume'), step: z.int() }),
  z.looseObject({ event: z.literal('merge') }),
  z.looseObject({ event: z.literal('variant'), name: text }),
  z.looseObject({ event: z.literal('checked') }),
  z.looseObject({ event: z.literal('dev'), macro_f1: z.nullable(number) }),
  z.looseObject({ event: z.literal('warning'), message: text }),
  z.looseObject({ event: z.literal('done'), out: text.optional() }),
  z.looseObject({ event: z.literal('error'), kind: text.optional(), message: text }),
]);
export type TrainerEvent = z.infer<typeof trainerEvent>;

/** One line of a job's output: an event of the trainer, or anything else that a program in the job printed. */
export type TrainerLine = { event: TrainerEvent } | { text: string };

/** Turns a job's output, in pieces that may end anywhere, into lines. */
export interface LineReader {
  push(piece: string): TrainerLine[];
  /** What is left behind the last line's end, once nothing more will come. */
  end(): TrainerLine[];
}

export function lineReader(): LineReader {
  let rest = '';
  return {
    push: (piece) => {
      const lines = (rest + piece).split(/\r?\n|\r/);
      rest = lines.pop() ?? '';
      return lines.flatMap(parseTrainerLine);
    },
    end: () => {
      const last = rest;
      rest = '';
      return parseTrainerLine(last);
    },
  };
}

/**
 * What a line says. Standard output and standard error come as one, so an event may stand behind words that a library printed without ending
 * its line; they come out as text before the event. JSON that is no known event is text too: a newer trainer may say more than this reads.
 */
export function parseTrainerLine(line: string): TrainerLine[] {
  const start = line.indexOf('{"event":');
  const event = start < 0 ? undefined : eventOf(line.slice(start));
  if (event === undefined) return line.trim() === '' ? [] : [{ text: line }];
  const before = line.slice(0, start).trimEnd();
  return [...(before === '' ? [] : [{ text: before }]), { event }];
}

function eventOf(json: string): TrainerEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const parsed = trainerEvent.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** What a job's events say of its training so far. */
export interface Training {
  stage?: string;
  step?: number;
  of?: number;
  loss?: number | null;
  /** Step of the last checkpoint. */
  checkpoint?: number;
  dev?: Extract<TrainerEvent, { event: 'dev' }>;
  warnings: string[];
  error?: string;
  /** The last line that was no event. */
  lastText?: string;
  take(line: TrainerLine): void;
}

export function newTraining(): Training {
  const training: Training = {
    warnings: [],
    take: (line) => {
      if ('text' in line) {
        training.lastText = line.text;
        return;
      }
      const { event } = line;
      if (event.event === 'stage') training.stage = event.name;
      else if (event.event === 'step') Object.assign(training, { step: event.step, of: event.of, loss: event.loss ?? null });
      else if (event.event === 'checkpoint' || event.event === 'resume') training.checkpoint = event.step;
      else if (event.event === 'dev') training.dev = event;
      else if (event.event === 'warning') training.warnings.push(event.message);
      else if (event.event === 'error') training.error = event.message;
    },
  };
  return training;
}
