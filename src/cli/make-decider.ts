import { join } from 'node:path';
import {
  type Decider,
  fileDecider,
  goldDecider,
  headDecider,
  judgeDecider,
  nliDecider,
  openHead,
  openNliModel,
  openSmallVerifier,
  openVerdicts,
  orDecider,
  readSmallVerifier,
  smallDecider,
  verifierDecider,
} from '../../runtime/index.js';
import { InputError, shown } from '../core/errors.js';
import { type Json, MANIFEST_NAME, type Manifest } from '../core/manifest.js';
import { runFolder } from '../core/run-folder.js';
import { readTable } from '../core/tables.js';
import type { LearntFrom } from '../core/training-questions.js';
import { trajectoryColumns } from '../core/trajectories.js';
import { type RunClaims, checkVerdictsOfRun, readRunClaims, usageOf } from '../evaluate/index.js';
import { type Usage, addUsage, noUsage } from '../llm/index.js';
import type { CommonFlags, Terminal } from './command.js';
import type { DeciderFlags } from './decider-flags.js';
import { encoderOf } from './encoder-flags.js';
import { type OpenedModel, openModel } from './llm-flags.js';
import { numberIn, wholeNumber } from './number-flags.js';
import { folderName } from './run-flags.js';
import { verifierFolder, verifierOf } from './verifier-flags.js';

type MakeFlags = DeciderFlags & CommonFlags & { run: string };

/** A decider with all that its command reports of it. */
export interface MadeDecider {
  decider: Decider;
  inputs: string[];
  options: { [name: string]: Json };
  claims?: RunClaims;
  /** What a question did for the decider's model. */
  learntFrom?: LearntFrom;
  /** The language model behind it. */
  model?: OpenedModel;
  /** What verdicts that it reads took of a language model; it asks none itself. */
  usage?: Usage | undefined;
  /** Whether a decider that hardly rules at all is to be marked. */
  guarded?: boolean;
}

/**
 * Makes the decider that the flags name for the run `flags.run`; what it opened is added to `opened`, for the caller to close. Throws InputError for
 * flags that it lacks or cannot take.
 */
export async function makeDecider(
  flags: MakeFlags,
  manifest: Manifest,
  { dir, opened, terminal }: { dir: string; opened: { close(): Promise<void> }[]; terminal: Terminal },
): Promise<MadeDecider> {
  switch (flags.decider) {
    case 'gold': {
      const { covering = 'answer', support = 'any' } = flags;
      return { decider: goldDecider({ covering, support }), inputs: [], options: { covering, support } };
    }
    case 'small': {
      const { model, claims } = await modelAndClaims(flags, manifest, 'the folder of a small verifier');
      const { details } = await readSmallVerifier(model);
      const encoder = await encoderOf(flags, details.encoder.name);
      opened.push(encoder);
      const verifier = await openSmallVerifier(model, encoder);
      opened.push(verifier);
      const { 'claim-text': claimText = 'expected_claim', 'all-pairs': allPairs = false } = flags;
      return {
        decider: smallDecider(verifier, { claimText, allPairs }),
        inputs: [join(model, MANIFEST_NAME), claims.input],
        options: { claims: String(flags.claims), 'claim-text': claimText, 'all-pairs': allPairs },
        claims,
        learntFrom: verifier.learntFrom,
      };
    }
    case 'verifier': {
      const { model, claims } = await modelAndClaims(flags, manifest, 'the folder or name of a verifier');
      const verifier = await verifierOf(flags, model, terminal);
      opened.push(verifier);
      const { 'all-pairs': allPairs = false, 'server-model': served } = flags;
      // A server answers many prompts as fast as one.
      const asked = flags['look-ahead'] ?? (flags.server === undefined ? undefined : Number.MAX_SAFE_INTEGER);
      const lookAhead = asked === undefined ? undefined : wholeNumber('look-ahead', asked);
      return {
        decider: verifierDecider(verifier, { allPairs, lookAhead }),
        inputs: [join(await verifierFolder(model, flags['model-dir']), MANIFEST_NAME), claims.input],
        options: {
          claims: String(flags.claims),
          'all-pairs': allPairs,
          ...(flags['look-ahead'] !== undefined && { 'look-ahead': flags['look-ahead'] }),
          ...(flags.variant !== undefined && { variant: flags.variant }),
          ...(served !== undefined && { 'server-model': served }),
        },
        claims,
      };
    }
    case 'file': {
      if (flags.verdicts === undefined) throw new InputError('--verdicts: expected a file of verdicts for --decider file');
      const threshold = flags.threshold === undefined ? 0.5 : numberIn('threshold', flags.threshold, [Number.MIN_VALUE, 1]);
      const skipIncomplete = flags['skip-incomplete'] ?? false;
      const decider = await fileDecider(flags.verdicts, { threshold, skipIncomplete });
      return { decider, inputs: [flags.verdicts], options: { threshold, 'skip-incomplete': skipIncomplete } };
    }
    case 'judge': {
      const threshold = flags.threshold === undefined ? 0.5 : numberIn('threshold', flags.threshold, [Number.MIN_VALUE, 1]);
      const reads = flags['judge-reads'] ?? ((await hasSubAnswers(flags.run, manifest)) ? 'sub_answers' : 'sentences');
      const model = await openModel(flags, terminal, { dir });
      opened.push(model);
      const decider = judgeDecider(model, { threshold, reads, allowWrongPolarity: flags['allow-wrong-polarity'] });
      terminal.note(`the judge reads ${reads === 'sub_answers' ? 'sub-questions and sub-answers' : 'queries and retrieved sentences'}`);
      return { decider, inputs: [], options: { identity: decider.identity }, model };
    }
    case 'nli': {
      const { model, claims } = await modelAndClaims(flags, manifest, 'the folder of a sequence classifier');
      const { threshold: given, hypothesis = 'declarative', 'all-pairs': allPairs = false, provider, threads } = flags;
      const threshold = given === undefined ? 0.5 : numberIn('threshold', given, [Number.MIN_VALUE, 1]);
      const nli = await openNliModel(model, { provider, threads: threads === undefined ? undefined : wholeNumber('threads', threads) });
      opened.push(nli);
      const decider = nliDecider(nli, { threshold, hypothesis, allPairs });
      return {
        decider,
        inputs: [claims.input],
        options: { claims: String(flags.claims), 'all-pairs': allPairs, identity: decider.identity },
        claims,
        guarded: true,
      };
    }
    case 'stoprag':
    case 'simrag': {
      const { model, threshold: given, provider, threads } = flags;
      if (model === undefined) throw new InputError(`--model: expected the export folder of a trained head for --decider ${flags.decider}`);
      const threshold = given === undefined ? 0.5 : numberIn('threshold', given, [Number.MIN_VALUE, 1]);
      const head = await openHead(model, flags.decider, {
        provider,
        threads: threads === undefined ? undefined : wholeNumber('threads', threads),
      });
      opened.push(head);
      return { decider: headDecider(head, { threshold }), inputs: [join(model, 'export.json')], options: { threshold } };
    }
    case 'or': {
      const names = (flags.of ?? '').split(',').map((one) => one.trim());
      if (names.length !== 2 || names[0] === names[1] || names.includes(''))
        throw new InputError(`--of: got ${shown(flags.of ?? null)}, expected the names of two verdicts in RUN/verdicts: A,B`);
      const folders = names.map((one) => runFolder.verdicts(flags.run, folderName('of', one)));
      const [first, second] = [await openVerdicts(folders[0] as string), await openVerdicts(folders[1] as string)];
      for (const [at, { manifest: verdicts }] of [first, second].entries())
        await checkVerdictsOfRun(
          { folder: flags.run, manifest },
          { folder: folders[at] as string, name: names[at] as string, manifest: verdicts },
        );
      const decider = await orDecider(first, second);
      const usages = [first, second].map((one) => usageOf(one.manifest)).filter((one) => one !== undefined);
      const usage = usages.length === 0 ? undefined : noUsage();
      if (usage) for (const one of usages) addUsage(usage, one);
      return { decider, inputs: folders.map((folder) => join(folder, MANIFEST_NAME)), options: { of: names }, usage };
    }
  }
}

/** What every decider that reads claims needs. */
async function modelAndClaims(flags: MakeFlags, manifest: Manifest, expected: string): Promise<{ model: string; claims: RunClaims }> {
  if (flags.model === undefined) throw new InputError(`--model: expected ${expected} for --decider ${flags.decider}`);
  if (flags.claims === undefined)
    throw new InputError(`--claims: expected the name of claims in RUN/claims for --decider ${flags.decider}`);
  return { model: flags.model, claims: await readRunClaims({ folder: flags.run, manifest }, folderName('claims', flags.claims)) };
}

/** Whether the run's agent gave an intermediate answer anywhere. */
async function hasSubAnswers(run: string, manifest: Manifest): Promise<boolean> {
  for await (const { sub_answer } of readTable(run, manifest, 'trajectories', trajectoryColumns)) if (sub_answer !== null) return true;
  return false;
}
