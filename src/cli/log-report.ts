import { resolve } from 'node:path';
import { type Profile, matchProfile, readProfile } from '../../runtime/index.js';
import { InputError, shown } from '../core/errors.js';
import { hashFile } from '../core/hash.js';
import { openOutputFolder } from '../core/output-folder.js';
import {
  type GateTraffic,
  type LogFigures,
  NO_DRIFT,
  logFigures,
  logReportHtml,
  logRunPages,
  logWarnings,
  readTraffic,
  storedLogFigures,
  verdictWords,
} from '../evaluate/index.js';
import { trafficNames } from './calibration-source.js';
import type { CommandResult, CommonFlags, Terminal } from './command.js';
import { wholeNumber } from './number-flags.js';
import { profilePath } from './profile-path.js';

export interface LogReportFlags extends CommonFlags {
  title: string;
  'from-log': string[];
  'dataset-names'?: string;
  profile?: string;
  'drift-alpha'?: number;
  resamples?: number;
}

/** `report --from-log`: the page of gate logs, and its figures as log.json. */
export async function logReport(flags: LogReportFlags, terminal: Terminal): Promise<CommandResult> {
  const logs = flags['from-log'];
  const { out: dir, 'drift-alpha': alpha, seed, resume, force } = flags;
  if (dir === undefined) throw new InputError('--out: expected a folder for the report');
  if (alpha !== undefined && !(alpha > 0 && alpha < 1))
    throw new InputError(`--drift-alpha: got ${shown(alpha)}, expected a number between 0 and 1, both excluded`);
  const resamples = wholeNumber('resamples', flags.resamples ?? 10_000, 39);
  const path = flags.profile === undefined ? undefined : await profilePath(flags.profile);
  const profile = path === undefined ? undefined : await readProfile(path);
  const traffic = await readTraffic(logs, trafficNames(flags['dataset-names']));
  const notes = profile === undefined ? [] : profileNotes(profile, traffic);
  const figures = logFigures(traffic, { profile, alpha, resamples, seed });
  const warnings = logWarnings(traffic, figures.runs);
  const stored = storedLogFigures(figures);
  const out = await openOutputFolder({
    dir,
    kind: 'report',
    command: 'report',
    options: {
      title: flags.title,
      'dataset-names': traffic.map((one) => one.name),
      profile: path === undefined ? null : (await hashFile(path)).sha256,
      'drift-alpha': alpha ?? null,
      resamples,
    },
    seed,
    inputs: logs,
    resume,
    force,
  });
  const counts = countsOf(figures);
  if (!out.finished) {
    const { pages, href, sections } = logRunPages(traffic, { tau: profile?.tau });
    await out.file(
      'report.html',
      await logReportHtml(traffic, figures, {
        title: flags.title,
        notes: [...notes, ...warnings.map((one) => `${one}.`)],
        sessionHref: href,
        more: sections,
      }),
    );
    for (const { name, html } of pages) await out.file(name, html);
    await out.file('log.json', `${JSON.stringify(stored, null, 2)}\n`);
    await out.finish({ counts, warnings });
  }
  for (const words of verdictWords(figures)) terminal.print(words);
  if (figures.drift === null) terminal.print(`Drift: ${NO_DRIFT}`);
  const page = resolve(dir, 'report.html');
  terminal.print(page);
  return { out: dir, counts, quarantined: {}, warnings, page, ...stored };
}

function profileNotes(profile: Profile, traffic: readonly GateTraffic[]): string[] {
  const { settings } = traffic[0] as GateTraffic;
  const { transferred } = matchProfile(
    profile,
    {
      encoder: settings.encoder,
      aggregation: settings.aggregation,
      evidenceText: settings.evidence_text,
      claimSource: settings.claim_source,
      claimText: settings.claim_text,
      drafterSha256: settings.drafter_sha256,
      policy: settings.policy,
      decider: settings.decider,
    },
    { transfer: true },
  );
  return [
    ...(transferred.length > 0
      ? [`The profile is applied knowingly to another gate than it was made for: ${transferred.join('; ')}.`]
      : []),
    ...(profile.first_margins === undefined ? ['The profile keeps no first margins, so drift cannot be tested; calibrate again.'] : []),
  ];
}

function countsOf({ stops }: Pick<LogFigures, 'stops'>): { [name: string]: number } {
  const total = (of: (one: LogFigures['stops'][number]) => number): number => stops.reduce((sum, one) => sum + of(one), 0);
  return {
    logs: stops.length,
    sessions: total((one) => one.sessions),
    in_shadow: total((one) => one.inShadow),
    loops: total((one) => one.loops),
    calls: total((one) => one.calls),
    skips: total((one) => one.skips),
    torn: total((one) => one.torn),
  };
}
