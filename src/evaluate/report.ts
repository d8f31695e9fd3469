import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Profile, readProfile } from '../../runtime/index.js';
import { InputError } from '../core/errors.js';
import { MANIFEST_NAME, type Manifest, checkedFile, readManifest } from '../core/manifest.js';
import { explainProfile, extentWords, foldCells, isDiagnostic } from './explain.js';
import { htmlPage, htmlParagraphs, htmlTable, escapeHtml, type Section } from '../core/html-page.js';
import type { frontierPlot } from './plots.js';
import { type Replay, replayCells, replayNotes } from './replay.js';
import { restoredReplay, storedReplay } from './stored-replay.js';

/** The frontier of one dataset as `calibrate` stores it. */
interface StoredFrontier {
  dataset: string;
  questions: number;
  points: { call_cut: number; agreement: number }[];
}

export interface CalibrationResult {
  name: string;
  manifest: Manifest;
  profile: Profile;
  frontiers: StoredFrontier[];
}

export interface ReplayResult {
  name: string;
  manifest: Manifest;
  replay: Replay;
}

/** What a report is made of: finished folders of `calibrate` and `replay`. */
export interface ReportSources {
  calibrations: CalibrationResult[];
  replays: ReplayResult[];
  /** The manifests read, as inputs of the report. */
  inputs: string[];
}

/**
 * Finds the calibrations and replays in the given folders: each is one itself, or holds some directly below it. Every file is checked
 * against its manifest. Throws InputError where there is none.
 */
export async function readReportSources(folders: readonly string[]): Promise<ReportSources> {
  const sources: ReportSources = { calibrations: [], replays: [], inputs: [] };
  for (const folder of folders) {
    const before = sources.inputs.length;
    for (const candidate of [folder, ...(await foldersBelow(folder))]) await addSource(candidate, sources);
    if (sources.inputs.length === before)
      throw new InputError('holds no finished calibration or replay, nor does a folder directly below it', { file: folder });
  }
  return sources;
}

/** The page and the same figures as plain data. `lead` stands first: a table and words of whoever makes the report. */
export async function buildReport(
  title: string,
  { calibrations, replays }: ReportSources,
  lead: readonly Section[] = [],
): Promise<{ html: string; json: object }> {
  // The plotting libraries take longer to load than most commands run, and only a report draws.
  const plots = await import('./plots.js');
  const sections = [
    ...lead,
    ...calibrations.flatMap((one) => calibrationSections(one, plots.frontierPlot)),
    ...replays.map(replaySection),
    provenance([...calibrations, ...replays]),
  ];
  return {
    html: htmlPage(title, sections),
    json: {
      title,
      calibrations: calibrations.map(({ name, profile, frontiers }) => ({ name, profile, frontiers })),
      replays: replays.map(({ name, replay }) => Object.assign({ name }, storedReplay(replay))),
    },
  };
}

function calibrationSections({ name, profile, frontiers }: CalibrationResult, draw: typeof frontierPlot): Section[] {
  return [
    {
      heading: `${name}: the verdict`,
      body: htmlParagraphs(verdict(profile)),
    },
    {
      heading: `${name}: frontier`,
      body: [
        draw(
          frontiers.map(({ dataset, points }) => ({
            name: dataset,
            points: points.map((point) => ({ agreement: point.agreement, cut: point.call_cut })),
            chosen: chosenPoint(profile, dataset),
          })),
          profile.bar,
        ),
        htmlParagraphs([
          'For each stop-loop agreement the largest share of decider calls that one threshold saves on that dataset. The star is what the threshold chosen without the dataset does on it.',
        ]),
      ].join('\n'),
    },
    { heading: `${name}: leave one dataset out`, body: tableOf(foldCells(profile)) },
    { heading: `${name}: the profile in words`, body: `<pre>${escapeHtml(explainProfile(profile))}</pre>` },
  ];
}

function chosenPoint({ folds }: Profile, dataset: string): { agreement: number; cut: number } | undefined {
  const fold = folds.find((one) => one.target === dataset);
  const [agreement, cut] = [fold?.all.agreement.value ?? null, fold?.all.call_cut.value ?? null];
  return agreement === null || cut === null ? undefined : { agreement, cut };
}

function verdict(profile: Profile): string[] {
  const missed = profile.folds.filter((fold) => fold.miss).map((fold) => fold.target);
  const extent = extentWords(profile.extent);
  return [
    ...(isDiagnostic(profile)
      ? ['A diagnostic: gold labels are in the claims or the decider, so this cannot be deployed as it stands.']
      : []),
    missed.length === 0
      ? `Every held-out dataset keeps the agreement bar of ${profile.bar}.`
      : `A miss: held-out agreement is below the bar of ${profile.bar} on ${missed.join(', ')}. A threshold for such questions wants questions like them.`,
    ...(extent === null ? [] : [extent]),
    ...(profile.transferred.length > 0 ? [`Transferred knowingly: ${profile.transferred.join('; ')}.`] : []),
  ];
}

function replaySection({ name, replay }: ReplayResult): Section {
  const tables = replayCells(replay).map(({ title, cells }) => `<h3>${escapeHtml(title)}</h3>\n${tableOf(cells)}`);
  return { heading: `${name}: policies on the same loops`, body: [...tables, htmlParagraphs(replayNotes(replay))].join('\n') };
}

function provenance(results: readonly { name: string; manifest: Manifest }[]): Section {
  const rows = results.map(({ name, manifest: { command, seed, product, options } }) => [
    name,
    `${command} (${product.name} ${product.version}, seed ${seed})`,
    Object.entries(options)
      .filter(([, value]) => value !== null)
      .map(([option, value]) => `--${option} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(' '),
  ]);
  return { heading: 'Where the numbers come from', body: htmlTable(['result', 'command', 'options'], rows) };
}

function tableOf({ header, rows }: { header: string[]; rows: string[][] }): string {
  return htmlTable(header, rows);
}

async function addSource(folder: string, sources: ReportSources): Promise<void> {
  if (!existsSync(join(folder, MANIFEST_NAME))) return;
  const manifest = await readManifest(folder);
  const name = basename(folder);
  if (manifest.kind === 'calibration') {
    const profile = await readProfile(await checkedFile(folder, manifest, 'profile.json'));
    const { datasets } = await readJson<{ datasets: StoredFrontier[] }>(folder, manifest, 'frontier.json');
    sources.calibrations.push({ name, manifest, profile, frontiers: datasets });
  } else if (manifest.kind === 'replay') {
    const stored = await readJson<Parameters<typeof restoredReplay>[0]>(folder, manifest, 'replay.json');
    sources.replays.push({ name, manifest, replay: restoredReplay(stored) });
  } else {
    return;
  }
  sources.inputs.push(join(folder, MANIFEST_NAME));
}

/** A file of our own, of this format version, whose bytes the manifest vouches for: its shape is not checked again. */
async function readJson<T>(folder: string, manifest: Manifest, name: string): Promise<T> {
  return JSON.parse(await readFile(await checkedFile(folder, manifest, name), 'utf8')) as T;
}

async function foldersBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => {
    throw new InputError('no such folder', { file: folder });
  });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name))
    .toSorted();
}
