import { type Profile, marginRange, matchProfile, readProfile } from '../../../runtime/index.js';
import { CheckFailedError, InputError, shown } from '../../core/errors.js';
import { canonicalJson, hashFile } from '../../core/hash.js';
import { openOutputFolder } from '../../core/output-folder.js';
import {
  type JoinedRuns,
  PARITY,
  ROUTER_NAMES,
  type Parity,
  type Replay,
  type ReplayedDataset,
  type ReplayedSystem,
  SYSTEM_NAMES,
  type StageCost,
  type SystemSettings,
  type SystemSpec,
  compareRouters,
  costWords,
  isDiagnostic,
  learntWarnings,
  markInSample,
  parityOf,
  parseSystems,
  readySystem,
  replay as replayRuns,
  replayRows,
  replayTable,
  routerTables,
  runCosts,
  storedReplay,
  storedRouters,
  textTable,
} from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { profilePath } from '../profile-path.js';
import { type RunFlags, folderName, loadRuns, manifestsOf, runOptions, sourcesOf, storedSources } from '../run-flags.js';

/** Every resample finds every router's best threshold anew, so fewer are taken than for plain figures. */
const ROUTER_RESAMPLES = 1000;

interface Flags extends CommonFlags, RunFlags {
  systems: string;
  profile?: string;
  transfer: boolean;
  tau?: number;
  'tau-lo'?: number;
  'margin-only-tau'?: number;
  bar?: number;
  extractor?: string[];
  routers: boolean;
  resamples: number;
}

export const replay: Command = {
  path: 'replay <run..>',
  describe: 'stopping policies on the same loops: what each calls, where it stops, what is covered there',
  epilogue: `Systems: ${SYSTEM_NAMES.join(', ')} (those with k with a number: fixed-3; match-margin with one: match-margin+0.5, or threshold-sweep). Flags that are left out are taken from the profile. Writes replay.json and rows.jsonl, with --routers also routers.json.`,
  positionals: { run: 'folders of runs' },
  options: {
    ...runOptions,
    systems: { type: 'string', default: 'full,always-verify,fixed-3,gate', describe: 'comma list' },
    profile: { type: 'string', describe: 'calibration profile, or its folder: gives τ, and is refused where it does not belong' },
    transfer: { type: 'boolean', default: false, describe: 'apply a profile of another decider, agent, corpus or claim source, marked' },
    tau: { type: 'number', describe: "the gate's threshold instead of a profile's" },
    'tau-lo': { type: 'number', describe: 'two-threshold: stop below this without a call (default: chosen on the same questions)' },
    'margin-only-tau': { type: 'number', describe: "margin-only: stop at this (default: matched to the decider's coverage safety)" },
    bar: { type: 'number', describe: "agreement at which --tau-lo is chosen (default: the profile's, else 0.9)" },
    extractor: {
      type: 'string',
      array: true,
      nargs: 1,
      describe: 'answers that are read: RUN/extractions/EXTRACTOR; adds EM and F1 at the stops, may be given again for another extractor',
    },
    routers: {
      type: 'boolean',
      default: false,
      describe: 'also the gate beside cheaper routers and random skipping, thresholds from the other datasets (two or more): routers.json',
    },
    resamples: { type: 'number', default: 10_000, describe: 'of the paired bootstrap' },
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  if (flags.out === undefined) throw new InputError('--out: expected a folder for the replay');
  const dir = flags.out;
  const specs = parseSystems(flags.systems);
  if (flags.profile !== undefined && flags.tau !== undefined) throw new InputError('--tau and --profile: expected one of them');
  if (flags.transfer && flags.profile === undefined) throw new InputError('--transfer: of no use without --profile');
  const path = flags.profile === undefined ? undefined : await profilePath(flags.profile);
  const profile = path === undefined ? undefined : await readProfile(path);
  const extractors = (flags.extractor ?? []).map((one) => folderName('extractor', one));
  const twice = extractors.find((one, at) => extractors.indexOf(one) < at);
  if (twice !== undefined) throw new InputError(`--extractor: got ${shown(twice)} twice, expected each once`);
  const sources = { ...sourcesOf(flags, profile), extractors };
  const settings = {
    tau: profile?.tau ?? (flags.tau === undefined ? null : numberIn('tau', flags.tau, [-1, 2])),
    lower: flags['tau-lo'] === undefined ? undefined : numberIn('tau-lo', flags['tau-lo'], [0, 2]),
    marginOnlyTau: flags['margin-only-tau'] === undefined ? undefined : numberIn('margin-only-tau', flags['margin-only-tau'], [-1, 2]),
    bar: flags.bar === undefined ? (profile?.bar ?? 0.9) : numberIn('bar', flags.bar, [0, 1]),
  };
  if (settings.lower !== undefined && settings.tau !== null && settings.lower > settings.tau) {
    throw new InputError(`--tau-lo: got ${settings.lower}, expected at most τ, ${settings.tau}`);
  }
  const resamples = wholeNumber('resamples', flags.resamples, 39);
  const inputs = await manifestsOf(flags.run, sources);
  const joined = await loadRuns(flags.run, sources, flags.repeats, terminal, { signals: flags.routers });
  const transferred = profile === undefined ? [] : match(profile, joined, flags.transfer);
  // Before the folder is opened: what turns out to be no use leaves nothing behind.
  const parity = parities(joined, specs, settings);
  const costs = await runCosts(flags.run, sources);
  const plain = {
    ...replayRuns(joined.datasets, specs, settings, { resamples, seed: flags.seed }),
    ...(costs.length > 0 && { costs: costWords(costs) }),
  };
  const routers = flags.routers
    ? compareRouters(joined.datasets, {
        routers: ROUTER_NAMES,
        bar: settings.bar,
        resamples: Math.min(resamples, ROUTER_RESAMPLES),
        seed: flags.seed,
      })
    : undefined;
  const replayed = profile === undefined ? plain : markInSample(plain, profile, joined.datasets);
  const out = await openOutputFolder({
    dir,
    kind: 'replay',
    command: 'replay',
    options: {
      ...storedSources(sources, joined, flags.repeats),
      systems: specs.map((one) => one.label),
      profile: path === undefined ? null : (await hashFile(path)).sha256,
      transfer: flags.transfer,
      tau: settings.tau,
      'tau-lo': flags['tau-lo'] ?? null,
      'margin-only-tau': flags['margin-only-tau'] ?? null,
      bar: settings.bar,
      ...(extractors.length > 0 && { extractor: extractors }),
      ...(flags.routers && { routers: true }),
      resamples,
    },
    seed: flags.seed,
    inputs: [...inputs, ...(path === undefined ? [] : [path])],
    resume: flags.resume,
    force: flags.force,
  });
  const result = resultOf(replayed, joined, { profile, transferred, tau: settings.tau, parity, costs });
  const warnings = warningsOf(joined, transferred, profile);
  const counts = {
    datasets: joined.datasets.length,
    rows: joined.datasets.reduce((sum, one) => sum + one.rows, 0),
    questions: joined.datasets.reduce((sum, one) => sum + one.questions.length, 0),
    systems: specs.length,
  };
  if (!out.finished) {
    await out.file('replay.json', `${JSON.stringify(result, null, 2)}\n`);
    if (routers) await out.file('routers.json', `${JSON.stringify(storedRouters(routers), null, 2)}\n`);
    await out.jsonl('rows.jsonl', replayRows(joined.datasets, specs, settings));
    await out.finish({ counts, warnings, details: { tau: settings.tau, transferred, claims: joined.identity.claimSource } });
  }
  terminal.print(replayTable(replayed));
  for (const { title, cells } of routers ? routerTables(routers) : []) terminal.print(`\n${title}\n${textTable(cells.header, cells.rows)}`);
  terminal.print(`\n${provenanceWords(joined)}`);
  for (const { dataset, first, second, questions, same } of parity)
    terminal.print(`${dataset}: ${second} gives the answers of ${first} on ${same} of ${questions} questions`);
  for (const one of transferred) terminal.print(`transferred: ${one}`);
  return { out: dir, counts, quarantined: {}, warnings, ...result };
}

function match(profile: Profile, { identity, agents, corpora, splitter }: JoinedRuns, transfer: boolean): string[] {
  const { decider, encoder, aggregation, policy, claimSource, claimText, drafterSha256, evidenceText } = identity;
  const use = {
    encoder,
    aggregation,
    policy,
    claimSource,
    claimText,
    drafterSha256,
    evidenceText,
    splitter,
    decider,
    agents,
    corpora,
  };
  return matchProfile(profile, use, { transfer }).transferred;
}

function resultOf(
  replayed: Replay,
  joined: JoinedRuns,
  {
    profile,
    transferred,
    tau,
    parity,
    costs,
  }: { profile: Profile | undefined; transferred: string[]; tau: number | null; parity: readonly Parity[]; costs: readonly StageCost[] },
): { [field: string]: unknown } {
  const labelled = (one: ReplayedDataset): ReplayedDataset => ({
    ...one,
    systems: one.systems.map((system) => withOrigin(system, joined)),
  });
  return {
    tau,
    transferred,
    profile: profile === undefined ? null : { bar: profile.bar, datasets: profile.datasets.map((one) => one.name), extent: profile.extent },
    ...storedReplay({
      datasets: replayed.datasets.map(labelled),
      pooled: replayed.pooled && labelled(replayed.pooled),
      breakEven: replayed.breakEven,
      costs: replayed.costs,
    }),
    ...(joined.identity.extractors !== undefined && { extractors: joined.identity.extractors, parity }),
    ...(costs.length > 0 && { usage: costs }),
    excluded: Object.fromEntries(joined.datasets.map((one) => [one.dataset, { ...one.excluded }])),
  };
}

/**
 * Two extractions by one extractor under two names: an arm that was extracted anew beside the cache. They are compared only where they give the same
 * answers on nearly all questions (method.md §9). Throws CheckFailedError.
 */
function parities({ datasets, identity }: JoinedRuns, specs: readonly SystemSpec[], settings: SystemSettings): Parity[] {
  const extractors = (identity.extractors ?? []) as { name: string; made: unknown }[];
  const found: Parity[] = [];
  for (const [at, { name: second, made }] of extractors.entries()) {
    const first = extractors.slice(0, at).find((one) => canonicalJson(one.made) === canonicalJson(made))?.name;
    if (first === undefined) continue;
    for (const { dataset, questions } of datasets) {
      const policies = specs.map((spec) => readySystem(spec, questions, settings).policy);
      const parity = parityOf(questions, policies, { dataset, first, second });
      if (parity.same < PARITY * parity.questions)
        throw new CheckFailedError(
          `--extractor: ${second} is ${first} extracted anew, and gives the same answers on ${parity.same} of ${parity.questions} questions of ${dataset}, expected at least ${PARITY} of them: the two are not compared`,
        );
      found.push(parity);
    }
  }
  return found;
}

/** Whose claims the gate and the decider read, and whether the arm could be deployed (evaluation.md). */
function withOrigin(system: ReplayedSystem, { identity: { claimSource, decider } }: JoinedRuns): ReplayedSystem {
  const goldGate = system.readsMargins && claimSource === 'gold';
  const goldDecider = system.callsDecider && isDiagnostic({ claim_source: 'generated', decider });
  return Object.assign({}, system, {
    gateClaims: system.readsMargins ? claimSource : null,
    deciderClaims: system.callsDecider ? decider.claims : null,
    deployable: !goldGate && !goldDecider,
  });
}

function provenanceWords({ identity }: JoinedRuns): string {
  const { claimSource, claimText, decider } = identity;
  const reads = decider.claims === null ? '' : ` on ${decider.claims} claims`;
  const diagnostic = isDiagnostic({ claim_source: claimSource, decider }) ? '; a diagnostic, not deployable: gold labels are in it' : '';
  return `gate: ${claimText === null ? `drafted slots (learnt from ${claimSource} claims)` : `${claimSource} claims (${claimText})`}; decider: ${decider.name}${reads}${diagnostic}`;
}

function warningsOf({ datasets }: JoinedRuns, transferred: readonly string[], profile: Profile | undefined): string[] {
  const warnings = learntWarnings(datasets);
  for (const { dataset, excluded, rows } of datasets) {
    const { no_claims, no_loop, undecided, repeated } = excluded;
    if (no_claims + no_loop + undecided + repeated > 0) {
      warnings.push(
        `${dataset}: left out ${no_claims} without claims, ${no_loop} without a loop, ${undecided} without verdicts, ${repeated} repeated, of ${rows} rows`,
      );
    }
  }
  for (const { dataset, questions } of profile === undefined ? [] : datasets) {
    const margins = questions.flatMap((one) => Array.from(one.margins));
    const { low, high, outside, alarm } = marginRange(profile as Profile, margins);
    if (alarm) {
      const share = `${(outside * 100).toFixed(1)}%`;
      warnings.push(`${dataset}: ${share} of the margins lie outside ${low} … ${high}, where the profile's lay: calibrate again`);
    }
  }
  if (transferred.length > 0) warnings.push(`the profile is transferred knowingly: ${transferred.join('; ')}`);
  if (profile?.extent === 'never calls') warnings.push(`the profile's τ ${shown(profile.tau)} never calls the decider`);
  return warnings;
}
