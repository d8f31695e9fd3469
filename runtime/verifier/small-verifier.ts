import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDenseWeights, denseLayers } from '../../src/core/dense-layers.js';
import { InputError } from '../../src/core/errors.js';
import { LABELS } from '../../src/core/labels.js';
import { checkOutputs, readManifest } from '../../src/core/manifest.js';
import { type Pair, type TextWords, pairFeatureWidth, pairTexts, readWords, writePairFeatures } from '../../src/core/pair-features.js';
import { readSafetensors } from '../../src/core/safetensors.js';
import {
  SMALL_VERIFIER_ONNX,
  SMALL_VERIFIER_WEIGHTS,
  type SmallVerifierDetails,
  smallVerifierDetails,
} from '../../src/core/small-verifier.js';
import { type LearntFrom, TRAINING_QUESTIONS, readTrainingQuestions } from '../../src/core/training-questions.js';
import type { Encoder } from '../encoders/encoder.js';
import type { LabelScores } from './label-scores.js';
import { type OnnxModel, checkPorts, openOnnxModel } from '../models/onnx-session.js';
import { trainedEncoder } from '../encoders/same-encoder.js';

/** Encoded texts and read words of some pairs, so that they can be scored one by one without encoding again. */
export interface EncodedPairs {
  query: ReadonlyMap<string, Float32Array>;
  passage: ReadonlyMap<string, Float32Array>;
  words: ReadonlyMap<string, TextWords>;
}

/** A trained small verifier over its encoder. It owns a native session until it is closed; the encoder stays its owner's. */
export interface SmallVerifier {
  readonly details: SmallVerifierDetails;
  /** sha256 of `small-verifier.onnx`. */
  readonly sha256: string;
  /** What a question did for it: a figure on one that it was trained on is no held-out one. */
  readonly learntFrom: LearntFrom;
  /** Encodes every claim and question against every piece of evidence once. */
  encode(pairs: readonly Pair[], options?: { signal?: AbortSignal | undefined }): Promise<EncodedPairs>;
  /** Scores pairs, in their order. Their texts are encoded first unless `encoded` has them. */
  score(pairs: readonly Pair[], options?: { encoded?: EncodedPairs | undefined; signal?: AbortSignal | undefined }): Promise<LabelScores[]>;
  close(): Promise<void>;
}

/**
 * Opens a folder of kind `small-verifier` (onnxruntime). Throws InputError where it is none or a file's bytes are not those of its
 * manifest, and ProfileMismatchError that names the difference when it was trained on another encoder's vectors.
 */
export async function openSmallVerifier(folder: string, encoder: Pick<Encoder, 'identity' | 'encode'>): Promise<SmallVerifier> {
  const { details, sha256, file, learntFrom } = await readSmallVerifier(folder);
  trainedEncoder(details.encoder, encoder.identity, 'small verifier');
  const { features } = details;
  const width = pairFeatureWidth(features, details.encoder.dimensions);
  const model = await openHead(file, width);

  const encode: SmallVerifier['encode'] = async (pairs, { signal } = {}) => {
    const [queries, passages, read] = [new Set<string>(), new Set<string>(), new Set<string>()];
    for (const pair of pairs) {
      const { question, claim, evidence } = pairTexts(pair, features);
      queries.add(question).add(claim);
      passages.add(evidence);
      read.add(pair.question).add(pair.claim).add(pair.sentence);
    }
    const vectors = async (texts: Set<string>, role: 'query' | 'passage'): Promise<Map<string, Float32Array>> => {
      const list = [...texts];
      const encoded = list.length === 0 ? [] : await encoder.encode(list, role, { signal });
      return new Map(list.map((text, at) => [text, encoded[at] as Float32Array]));
    };
    return {
      query: await vectors(queries, 'query'),
      passage: await vectors(passages, 'passage'),
      words: new Map([...read].map((text) => [text, readWords(text)])),
    };
  };

  const scoreEncoded = async (pairs: readonly Pair[], { query, passage, words }: EncodedPairs): Promise<LabelScores[]> => {
    const values = new Float32Array(pairs.length * width);
    for (const [at, pair] of pairs.entries()) {
      const texts = pairTexts(pair, features);
      const vectors = {
        question: query.get(texts.question) as Float32Array,
        claim: query.get(texts.claim) as Float32Array,
        evidence: passage.get(texts.evidence) as Float32Array,
      };
      writePairFeatures(values, at * width, { pair, vectors, read: (text) => words.get(text) ?? readWords(text) }, features);
    }
    const scores = (await model.run(values, pairs.length, width)).log_probabilities as Float32Array;
    return pairs.map((_, at) => {
      const [lp_match = NaN, lp_partial = NaN, lp_null = NaN] = scores.subarray(at * LABELS.length, (at + 1) * LABELS.length);
      return { lp_match, lp_partial, lp_null };
    });
  };

  return {
    details,
    sha256,
    learntFrom,
    encode,
    score: async (pairs, { encoded, signal } = {}) => {
      const scores: LabelScores[] = [];
      for (let from = 0; from < pairs.length; from += SCORED_PAIRS) {
        signal?.throwIfAborted();
        const part = pairs.slice(from, from + SCORED_PAIRS);
        scores.push(...(await scoreEncoded(part, encoded ?? (await encode(part, { signal })))));
      }
      return scores;
    },
    close: () => model.close(),
  };
}

async function openHead(file: string, width: number): Promise<OnnxModel> {
  const model = await openOnnxModel(await readFile(file), file);
  try {
    checkPorts(model.inputs, { features: [null, width] }, file);
    checkPorts(model.outputs, { log_probabilities: [null, LABELS.length] }, file);
  } catch (error) {
    await model.close();
    throw error;
  }
  return model;
}

/**
 * What a folder of kind `small-verifier` says of its model, and its checked graph, without opening it. Throws InputError where it is none, or
 * where a file is not what the manifest says.
 */
export async function readSmallVerifier(
  folder: string,
): Promise<{ details: SmallVerifierDetails; sha256: string; file: string; learntFrom: LearntFrom }> {
  const manifest = await readManifest(folder, 'small-verifier');
  const parsed = smallVerifierDetails.safeParse(manifest.details);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new InputError(issue?.message ?? 'invalid', { file: folder, field: ['details', ...(issue?.path ?? [])].join('.') });
  }
  await checkOutputs(folder, manifest, [SMALL_VERIFIER_ONNX, SMALL_VERIFIER_WEIGHTS, TRAINING_QUESTIONS]);
  const { encoder, features, hidden, parameters } = parsed.data;
  const weights = join(folder, SMALL_VERIFIER_WEIGHTS);
  const layers = denseLayers([pairFeatureWidth(features, encoder.dimensions), ...hidden, LABELS.length]);
  checkDenseWeights(await readSafetensors(weights), layers, { parameters, file: weights });
  const file = join(folder, SMALL_VERIFIER_ONNX);
  return {
    details: parsed.data,
    sha256: manifest.outputs.find((one) => one.name === SMALL_VERIFIER_ONNX)?.sha256 as string,
    file,
    learntFrom: await readTrainingQuestions(folder, manifest),
  };
}

const SCORED_PAIRS = 512;
