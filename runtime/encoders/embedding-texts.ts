import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClaimText, claimColumns, claimText, defaultClaimText } from '../../src/core/claims.js';
import { choice, text } from '../../src/core/columns.js';
import { EVIDENCE_TEXTS, type EvidenceText, ROLES, type Role, embeddingKey, evidenceText } from '../../src/core/embeddings.js';
import { InputError } from '../../src/core/errors.js';
import { readJsonl } from '../../src/core/jsonl.js';
import { type Manifest, readManifest } from '../../src/core/manifest.js';
import { recordColumns } from '../../src/core/records.js';
import { runFolder } from '../../src/core/run-folder.js';
import { readTable } from '../../src/core/tables.js';
import { trajectoryColumns } from '../../src/core/trajectories.js';

/** Questions (role query), claims (role query) and evidence sentences (role passage). */
export const EMBEDDED = ['questions', 'claims', 'evidence'] as const;
export type Embedded = (typeof EMBEDDED)[number];

export interface TextSelection {
  /** Default: whatever the folder has. */
  what?: readonly Embedded[] | undefined;
  /** Of a run: names of its claims folders. Default: all that are there. */
  claims?: readonly string[] | undefined;
  /** Default: the default of the claims' source (core's `defaultClaimText`). */
  claimTexts?: readonly ClaimText[] | undefined;
  /** Default `title+sentence`. */
  evidenceTexts?: readonly EvidenceText[] | undefined;
}

export interface EmbeddingTexts {
  /** Different texts, sorted by key. */
  entries: readonly { key: string; role: Role; text: string }[];
  /** Files that were read. */
  inputs: readonly string[];
  /** For the manifest: which of the choices the texts stand for. */
  details: { what: Embedded[]; claims: { name: string; source: string; claim_texts: ClaimText[] }[]; evidence_texts: EvidenceText[] };
  /** Different texts of each kind; one text may be of two kinds. */
  counts: { [what in Embedded]?: number };
  warnings: string[];
}

/** Where texts go as they are found; the same text of the same role is kept once. */
interface Sink {
  add(what: Embedded, role: Role, text: string): void;
  read(folder: string, manifest: Manifest, table: string): void;
  details: EmbeddingTexts['details'];
  warnings: string[];
}

/**
 * The texts to embed of a run, a claims or a records folder, or of a JSON lines file of `{text, role}`. Throws InputError for another folder, a
 * choice that it does not have, or a claim without the text asked for.
 */
export async function embeddingTexts(path: string, selection: TextSelection = {}): Promise<EmbeddingTexts> {
  const texts = new Map<string, { key: string; role: Role; text: string }>();
  const kinds = new Map<Embedded, Set<string>>();
  const inputs: string[] = [];
  const sink: Sink = {
    add: (what, role, content) => {
      const key = embeddingKey(role, content);
      if (!texts.has(key)) texts.set(key, { key, role, text: content });
      kinds.set(what, (kinds.get(what) ?? new Set()).add(key));
    },
    read: (folder, manifest, table) => {
      const name = manifest.outputs.find((one) => one.name.startsWith(`${table}.`))?.name;
      if (name !== undefined) inputs.push(join(folder, name));
    },
    details: { what: [], claims: [], evidence_texts: [] },
    warnings: [],
  };
  if (await isFile(path)) {
    inputs.push(path);
    for await (const row of readJsonl(path, { text: text(), role: choice(ROLES) }))
      sink.add(row.role === 'query' ? 'questions' : 'evidence', row.role, row.text);
    sink.details.what = EMBEDDED.filter((one) => kinds.has(one));
  } else {
    const manifest = await readManifest(path, ['trajectories', 'claims', 'records']);
    await (manifest.kind === 'trajectories' ? fromRun : manifest.kind === 'claims' ? fromClaims : fromRecords)(
      path,
      manifest,
      selection,
      sink,
    );
  }
  return {
    entries: [...texts.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    inputs,
    details: sink.details,
    counts: Object.fromEntries([...kinds].map(([what, keys]) => [what, keys.size])),
    warnings: sink.warnings,
  };
}

async function fromRun(run: string, manifest: Manifest, selection: TextSelection, sink: Sink): Promise<void> {
  const what = chosen(selection, EMBEDDED, 'a run');
  sink.details.what = what;
  if (what.includes('questions')) await addQuestions(run, manifest, sink);
  if (what.includes('evidence')) {
    const forms = evidenceForms(selection, sink);
    sink.read(run, manifest, 'trajectories');
    for await (const loop of readTable(run, manifest, 'trajectories', trajectoryColumns)) {
      for (const { title, text: sentence } of loop.sentences)
        for (const form of forms) sink.add('evidence', 'passage', evidenceText(title, sentence, form));
    }
  }
  if (!what.includes('claims')) return;
  const names = selection.claims ?? (await claimsFolders(run));
  if (names.length === 0) sink.warnings.push('this run has no claims yet, so none were embedded');
  for (const name of names.toSorted()) {
    const folder = runFolder.claims(run, name);
    await addClaims(name, folder, await readManifest(folder, 'claims'), selection, sink);
  }
}

async function fromClaims(folder: string, manifest: Manifest, selection: TextSelection, sink: Sink): Promise<void> {
  const what = chosen(selection, ['questions', 'claims'], 'a claims folder');
  sink.details.what = what;
  if (what.includes('claims')) await addClaims(null, folder, manifest, selection, sink);
  if (!what.includes('questions')) return;
  sink.read(folder, manifest, 'claims');
  for await (const { question } of readTable(folder, manifest, 'claims', claimColumns)) sink.add('questions', 'query', question);
}

async function fromRecords(folder: string, manifest: Manifest, selection: TextSelection, sink: Sink): Promise<void> {
  const what = chosen(selection, ['questions', 'evidence'], 'a records folder');
  sink.details.what = what;
  if (what.includes('questions')) await addQuestions(folder, manifest, sink);
  if (!what.includes('evidence')) return;
  const forms = evidenceForms(selection, sink);
  sink.read(folder, manifest, 'records');
  for await (const { pages } of readTable(folder, manifest, 'records', recordColumns)) {
    for (const { title, sentences } of pages) {
      for (const sentence of sentences) {
        if (sentence.trim() === '') continue;
        for (const form of forms) sink.add('evidence', 'passage', evidenceText(title, sentence, form));
      }
    }
  }
}

async function addQuestions(folder: string, manifest: Manifest, sink: Sink): Promise<void> {
  sink.read(folder, manifest, 'records');
  for await (const { question } of readTable(folder, manifest, 'records', recordColumns)) sink.add('questions', 'query', question);
}

async function addClaims(name: string | null, folder: string, manifest: Manifest, selection: TextSelection, sink: Sink): Promise<void> {
  sink.read(folder, manifest, 'claims');
  const sources = new Map<string, Set<ClaimText>>();
  let empty = 0;
  for await (const claim of readTable(folder, manifest, 'claims', claimColumns)) {
    const forms = selection.claimTexts ?? [defaultClaimText(claim.source)];
    for (const form of forms) {
      const content = claimText(claim, form);
      if (content.trim() === '') empty++;
      sink.add('claims', 'query', content);
    }
    sources.set(claim.source, new Set([...(sources.get(claim.source) ?? []), ...forms]));
  }
  for (const [source, forms] of sources) sink.details.claims.push({ name: name ?? source, source, claim_texts: [...forms].toSorted() });
  if (empty > 0) sink.warnings.push(`${empty} claims of ${name ?? 'this folder'} have an empty text; their vector says nothing`);
}

function chosen(selection: TextSelection, available: readonly Embedded[], of: string): Embedded[] {
  const missing = selection.what?.find((one) => !available.includes(one));
  if (missing !== undefined) throw new InputError(`--what ${missing}: ${of} has ${available.join(', ')}`);
  return available.filter((one) => selection.what?.includes(one) ?? true);
}

function evidenceForms(selection: TextSelection, sink: Sink): readonly EvidenceText[] {
  const wanted = selection.evidenceTexts ?? ['title+sentence'];
  sink.details.evidence_texts = EVIDENCE_TEXTS.filter((one) => wanted.includes(one));
  return sink.details.evidence_texts;
}

/** Finished claims folders of a run. */
async function claimsFolders(run: string): Promise<string[]> {
  const parent = join(run, 'claims');
  const names = await readdir(parent).catch(() => []);
  const finished = await Promise.all(names.map((name) => isFile(join(parent, name, 'manifest.json'))));
  return names.filter((_, at) => finished[at]);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}
