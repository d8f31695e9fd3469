import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { type Manifest, readManifest } from '../core/manifest.js';
import type { Usage } from '../llm/index.js';
import { type RunSources, runManifests } from './load-run.js';

/** What one stage asked of a language model on one run. */
export interface StageCost {
  dataset: string;
  /** Kind of the folder: `claims`, `trajectories`, `verdicts`, `extractions`. */
  stage: string;
  /** The folder's name below the run; '' for the run's own loops. */
  name: string;
  questions: number;
  usage: Usage;
}

/**
 * The language models' part of the cost of everything that `loadRun` reads: calls and tokens as the manifests sum them over all questions, whatever
 * was found in a cache. Stages that asked no model are left out (known fault P106: a figure names what it cost).
 */
export async function runCosts(runs: readonly string[], sources: RunSources): Promise<StageCost[]> {
  const costs: StageCost[] = [];
  for (const run of runs) {
    const { details } = await readManifest(run, 'trajectories');
    for (const file of await runManifests(run, sources)) {
      const folder = dirname(file);
      const manifest = await readManifest(folder);
      const usage = usageOf(manifest);
      if (!usage) continue;
      costs.push({
        dataset: String(details.dataset),
        stage: manifest.kind,
        name: manifest.kind === 'trajectories' ? '' : basename(folder),
        questions: Number(manifest.counts.questions),
        usage,
      });
    }
  }
  return costs;
}

/** What a finished stage asked of a language model, as its manifest has it; undefined where it asked none. */
export function usageOf({ counts }: Pick<Manifest, 'counts'>): Usage | undefined {
  return usageSchema.safeParse(counts.usage).data;
}

/** A line a stage: `hotpotqa, claims (generated): 30 calls, 4,511 prompt and 1,204 completion tokens on 30 questions`. */
export function costWords(costs: readonly StageCost[]): string[] {
  return costs.map(({ dataset, stage, name, questions, usage }) => {
    const { calls, prompt_tokens: prompt, completion_tokens: completion } = usage;
    const stages = name === '' ? stage : `${stage} (${name})`;
    return `${dataset}, ${stages}: ${grouped(calls)} calls of a language model, ${grouped(prompt)} prompt and ${grouped(completion)} completion tokens, on ${grouped(questions)} questions`;
  });
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

const usageSchema = z.object({ calls: z.number(), prompt_tokens: z.number(), completion_tokens: z.number() });
