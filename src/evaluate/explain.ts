import type { Profile, ProfileFold } from '../../runtime/index.js';
import { questionsForGuarantee, questionsToAgree } from './guarantee.js';
import { OWN_QUESTIONS_RULE, agreementRange, questionsForMean } from './own-questions.js';
import { type Cells, figure, signed, textTable, withInterval } from './text-table.js';

/** The folds of a calibration as a table: where τ was chosen and what it does on questions it was not chosen on. */
export function foldTable(profile: Pick<Profile, 'folds' | 'bar'>): string {
  const { header, rows } = foldCells(profile);
  return textTable(header, rows);
}

/** The same table as cells, for a page. */
export function foldCells({ folds, bar }: Pick<Profile, 'folds' | 'bar'>): Cells {
  const rows = folds.map((fold) => [
    fold.target,
    String(fold.all.questions.valid),
    tauText(fold.tau),
    withInterval(fold.all.call_cut),
    withInterval(fold.all.agreement) + (fold.miss ? ' miss' : ''),
    withInterval(fold.all.coverage_safety),
    figure(fold.all.own_safety),
    signed(fold.all.delta_coverage.value),
    fold.held_out === null ? '–' : String(fold.held_out.questions.valid),
    fold.held_out === null ? '–' : withInterval(fold.held_out.call_cut),
    fold.held_out === null ? '–' : withInterval(fold.held_out.agreement),
    `${tauText(fold.exact.tau)}: ${figure(fold.exact.call_cut)} at ${figure(fold.exact.agreement)}`,
    figure(fold.frontier.call_cut),
  ]);
  const header = [
    'target', 'n', 'τ', 'call cut', `agreement (bar ${bar})`, 'safety', 'own', 'Δcoverage',
    'n outside split', 'call cut', 'agreement', 'exact τ: cut at agreement', 'own frontier cut',
  ]; // prettier-ignore
  return { header, rows };
}

/** A profile in words: what to expect, where it holds, what the numbers are made of, and what it is not valid for (known faults P28, P36). */
export function explainProfile(profile: Profile): string {
  return [
    ...tauParagraph(profile),
    '',
    'What it was chosen on',
    ...provenance(profile),
    ...logWords(profile),
    '',
    'What to expect on questions it was not chosen on',
    ...profile.folds.flatMap((fold) => foldWords(fold, profile)),
    '',
    foldTable(profile),
    '',
    'Where the margins lie',
    quantileTable(profile),
    ...quantileWords(profile),
    '',
    'Where it fails most',
    ...sliceWords(profile),
    '',
    'What it is not valid for',
    ...limits(profile),
  ].join('\n');
}

/** The words for a τ at one of its ends. */
export function extentWords(extent: Profile['extent']): string | null {
  if (extent === 'never calls') return 'This τ never calls the decider: every run goes to its end. It is not to be enforced.';
  if (extent === 'calls always') return 'This τ calls the decider at every loop: it saves nothing.';
  return null;
}

/** Before and after the selection, and why nothing changed where nothing did (known fault P32). */
export function selectionWords({ selection, bar, safety_reference, guarantee, own_questions: own }: Profile): string[] {
  const { before, after, unchanged, refused } = selection;
  const on = own
    ? `${own.questions} questions of ${own.dataset}, the other datasets counted as ${own.prior_weight} more`
    : 'the training questions';
  const moved = `Objective (call cut on ${on}): before ${figure(before.call_cut)} at τ ${tauText(before.tau)} (always call), after ${figure(after.call_cut)} at τ ${tauText(after.tau)}.`;
  const reasons = [
    `${refused.agreement} for agreement below ${bar}`,
    `${refused.safety} for coverage safety below ${referenceWords(safety_reference)}`,
    ...(guarantee ? [`${refused.guarantee} for the guarantee`] : []),
  ].join(', ');
  if (unchanged === 'flat') return [moved, 'Nothing changed: every τ that calls at all costs as many calls as calling always (flat).'];
  if (unchanged === 'infeasible') return [moved, `Nothing changed: no τ that saves calls meets the constraints (refused: ${reasons}).`];
  return [moved, `Candidates with a larger cut that were refused: ${reasons}.`];
}

export function tauText(tau: number): string {
  return String(Math.round(tau * 1e6) / 1e6).replace('-', '−');
}

function tauParagraph(profile: Profile): string[] {
  const extent = extentWords(profile.extent);
  return [
    `τ = ${tauText(profile.tau)}: skip the decider while the margin (1 − cosine of the least covered claim) is above τ, call it otherwise.`,
    ...(extent === null ? [] : [extent]),
    ...selectionWords(profile),
    ...guaranteeWords(profile),
    ...(profile.transferred.length > 0 ? [`TRANSFERRED: ${profile.transferred.join('; ')}.`] : []),
  ];
}

/** What a log leaves open, and why; nothing for a profile of cached runs. */
export function logWords({ from_log: log }: Pick<Profile, 'from_log'>): string[] {
  if (log === undefined) return [];
  const { call_cut: cut, unseen, logs } = log;
  const questions = logs.reduce((sum, one) => sum + one.questions, 0);
  const left = logs.flatMap(({ name, excluded }) =>
    Object.entries(excluded)
      .flatMap(([reason, count]) => (count === 0 ? [] : [`${count} ${reason}`]))
      .map((words) => `${name}: ${words}`),
  );
  return [
    `  From gate logs, without gold labels: there is no reference for coverage safety, agreement alone decides.`,
    unseen === 0
      ? `  Every loop that the gate would have come to was observed, so the call cut on these ${questions} questions is exact: ${figure(cut.pessimistic)}.`
      : `  On these ${questions} questions the call cut lies between ${figure(cut.pessimistic)} (one call at every loop that nobody saw) and ${figure(cut.optimistic)} (no further call). A live shadow run follows the decider: it ends where the decider fires, so what a gate that skips this loop would have asked later was not observed (${unseen} questions). It stops later than the decider, so agreement is exact (without a budget of steps that is an assumption; the calibration's warnings say it). τ was chosen by the smaller cut, and the figures below show it.`,
    ...(left.length === 0 ? [] : [`  Sessions left out: ${left.join('; ')}.`]),
  ];
}

/** What is guaranteed, or what a guarantee would take; and what questions of one's own give. */
export function guaranteeWords({
  guarantee,
  bar,
  constraint,
  trained_on,
  own_questions: own,
}: Pick<Profile, 'guarantee' | 'bar' | 'constraint' | 'trained_on' | 'own_questions'>): string[] {
  const parts = constraint === 'pooled' || own !== undefined ? 1 : trained_on.length;
  if (guarantee === null)
    return [
      'No guarantee: τ is a point choice; on new questions of the same kind agreement can fall below the bar (--guarantee δ bounds how often).',
      ...ownQuestionsWords(bar, parts),
      ...meanWords(bar, 0.05),
    ];
  return [
    ...guarantee.parts.map((part) =>
      part.tau === null
        ? `Guarantee (δ ${guarantee.delta}): ${part.dataset} has ${part.questions} training questions and certifies nothing; at least ${part.questions_needed} are needed.`
        : `Guarantee (δ ${guarantee.delta}): with probability at least ${figure(1 - guarantee.delta, 2)} agreement on questions like ${part.dataset}'s is at least ${guarantee.bar} for τ ≥ ${tauText(part.tau)} (${part.questions} questions, ${part.agreeing_needed} had to agree). It does not hold for other questions.`,
    ),
    ...meanWords(bar, guarantee.delta),
  ];
}

/** How many questions of one's own a guarantee takes: the one thing to know before logging them. `parts` share δ. */
function ownQuestionsWords(bar: number, parts: number): string[] {
  if (bar >= 1) return [];
  const needed = [0.05, 0.1].map((delta) => `${questionsForGuarantee({ bar, delta: delta / parts })} at δ ${delta}`);
  return [
    `A guarantee of agreement ≥ ${bar} takes at least ${needed.join(', ')}${parts === 1 ? '' : ' from each dataset'}: questions of the kind it is to hold for, all of which would have to agree; more where some do not.`,
  ];
}

/** What so many questions of one's own give, in the mean and with a guarantee. */
function meanWords(bar: number, delta: number): string[] {
  if (bar >= 1) return [];
  const rows = [10, 25, 50, 100, 200, 500].flatMap((n) => {
    const range = agreementRange(n, bar);
    if (range === null) return [];
    const agreeing = questionsToAgree(n, { bar, delta });
    return [
      `${n}: ${figure(range.low, 2)} to ${figure(range.high, 2)}${agreeing > n ? ' (nothing certified)' : ` (certified where ${agreeing} agree)`}`,
    ];
  });
  return [
    `Questions of your own (--target NAME --own-questions) mend a τ that other datasets' questions gave. By themselves ${questionsForMean(bar)} or more keep agreement ≥ ${bar} in the mean (the option counts the other datasets as ${OWN_QUESTIONS_RULE.weight} more); 95% of the τ from so many give an agreement of ${rows.join('; ')}. In brackets what a guarantee at δ ${delta} asks of them.`,
  ];
}

function provenance(profile: Profile): string[] {
  const split = profile.split.rule === 'first rows' ? `the first ${profile.split.rows} rows of each` : 'the listed questions of each';
  const { excluded } = profile.datasets.reduce(
    (sum, one) => ({
      excluded: sum.excluded + one.excluded.no_claims + one.excluded.no_loop + one.excluded.undecided + one.excluded.repeated,
    }),
    { excluded: 0 },
  );
  return [
    `  datasets   ${profile.datasets.map((one) => `${one.name} (${one.training} of ${one.questions.valid} questions)`).join(', ')}; τ from ${profile.trained_on.join(', ')}`,
    `  split      ${split}; ${excluded} rows left out`,
    `  rule       ${ruleWords(profile)}agreement ≥ ${profile.bar} and coverage safety ≥ ${referenceWords(profile.safety_reference)}, ${profile.own_questions ? 'on both together' : profile.constraint === 'pooled' ? 'on the pooled questions' : 'on each dataset'}; candidates ${profile.grid === 'exact' ? 'all distinct margins' : `in steps of ${profile.grid}`}`,
    `  encoder    ${profile.encoder.name} (${profile.encoder.dtype}, ${profile.encoder.pooling} pooling, prefixes ${JSON.stringify(profile.encoder.query_prefix)} and ${JSON.stringify(profile.encoder.passage_prefix)}, ${profile.encoder.model_sha256.slice(0, 12)})`,
    `  claims     ${profile.claim_source}, embedded as ${profile.claim_text ?? 'drafted slots'}; evidence as ${profile.evidence_text}; ${profile.aggregation} over sentences; ${profile.policy}`,
    `  decider    ${profile.decider.name}${profile.decider.claims === null ? '' : ` on ${profile.decider.claims} claims`}`,
    ...(profile.without_gold ? ['  No supporting facts: coverage safety is unknown, agreement alone decided.'] : []),
    ...(isDiagnostic(profile) ? ['  Gold labels went into it: a diagnostic, not something to deploy.'] : []),
  ];
}

function ruleWords({ own_questions: own }: Profile): string {
  if (own === undefined) return '';
  return `${own.questions} questions of ${own.dataset} and ${own.spare} that never agrees, the other datasets as ${own.prior_weight} more at their least agreement; `;
}

/**
 * Gold claims and the gold decider cannot exist at run time. The claims are those of the gate (or those that its drafter learnt) and those that
 * the decider read; the decider is known by its identity, whatever name its verdicts have.
 */
export function isDiagnostic(profile: Pick<Profile, 'claim_source' | 'decider'>): boolean {
  return profile.claim_source === 'gold' || profile.decider.claims === 'gold' || readsGold(profile.decider.identity);
}

function readsGold(identity: Profile['decider']['identity']): boolean {
  if (identity === null || typeof identity !== 'object' || Array.isArray(identity)) return false;
  return identity.diagnostic === true || identity.decider === 'gold';
}

function foldWords(fold: ProfileFold, { bar }: Profile): string[] {
  const { all } = fold;
  const extent = extentWords(fold.selection.extent);
  return [
    `  ${fold.target}: ${percent(all.call_cut.value)} of the calls are saved (95% interval ${range(all.call_cut)}); ${percent(all.agreement.value)} of the questions stop where always-verify stops (${range(all.agreement)}); coverage safety ${figure(all.coverage_safety.value)} (${range(all.coverage_safety)}), always-verify's own ${figure(all.own_safety)}.`,
    ...(fold.miss ? [`    A miss: held-out agreement is below the bar ${bar}.`] : []),
    ...(fold.held_out !== null && fold.held_out.agreement.value !== null && fold.held_out.agreement.value < bar
      ? [
          `    Outside its first rows (n = ${fold.held_out.questions.valid}) agreement is ${figure(fold.held_out.agreement.value)}, below the bar.`,
        ]
      : []),
    ...(extent === null ? [] : [`    ${extent}`]),
    `    The best τ for ${fold.target} alone would save ${percent(fold.frontier.call_cut)} at the bar${fold.miss ? '.' : `: choosing it elsewhere costs ${figure(100 * (fold.frontier.call_cut - (all.call_cut.value ?? 0)), 1)} points.`}`,
  ];
}

function quantileTable({ quantiles }: Profile): string {
  const header = ['', ...quantiles.probabilities.map((one) => `${tauText(one * 100)}%`)];
  const rows = quantiles.datasets.flatMap((one) => [
    [`${one.dataset} margin`, ...one.margins.map((value) => figure(value))],
    [`${one.dataset} cosine`, ...one.cosines.map((value) => figure(value))],
  ]);
  return textTable(header, rows);
}

function quantileWords({ quantiles, tau }: Profile): string[] {
  return quantiles.datasets.map((one) => {
    const at = one.margins.findIndex((margin) => margin > tau);
    const below = at <= 0 ? undefined : quantiles.probabilities[at - 1];
    const words =
      at === 0
        ? 'below all margins'
        : at < 0
          ? 'at or above all margins'
          : `between the ${tauText((below as number) * 100)}% and the ${tauText((quantiles.probabilities[at] as number) * 100)}% quantile of the margins`;
    return `  ${one.dataset}: τ lies ${words}. When live margins leave this range, calibrate again.`;
  });
}

function sliceWords({ folds }: Profile): string[] {
  const slices = folds.flatMap(({ target, slices: own }) => own.filter((one) => one.questions >= 10).map((slice) => ({ target, slice })));
  const worst = slices.sort((a, b) => a.slice.agreement - b.slice.agreement).slice(0, 3);
  if (worst.length === 0) return ['  No slice has ten questions.'];
  return worst.map(
    ({ target, slice: { claims, questions, agreement, call_cut } }) =>
      `  ${target}, questions with ${claims} ${claims === 1 ? 'claim' : 'claims'} (n = ${questions}): agreement ${figure(agreement)}, call cut ${figure(call_cut)}`,
  );
}

function limits(profile: Profile): string[] {
  return [
    `  another encoder, prefix, pooling, aggregation (${profile.aggregation}), evidence text (${profile.evidence_text}), claim text (${profile.claim_text ?? 'drafted'}) or sentence splitter: refused, cosines have other scales there`,
    `  another decider than ${profile.decider.name}, agent, corpus or claim source than ${profile.claim_source}: refused unless --transfer, and then marked`,
    ...(profile.mode === 'k-fold' ? ['  other datasets: there was only one, so nothing is known about how it transfers'] : []),
    ...(isDiagnostic(profile) ? ['  deployment: gold labels do not exist at run time'] : []),
    ...(profile.extent === 'never calls' ? ['  enforcement: it would never call the decider'] : []),
  ];
}

function referenceWords(reference: Profile['safety_reference']): string {
  return reference === 'own' ? "always-verify's own" : reference === 'none' ? 'nothing (no reference)' : String(reference);
}

function percent(value: number | null): string {
  return value === null ? 'n/a' : `${figure(value * 100, 1)}%`;
}

function range({ low, high }: { low: number | null; high: number | null }): string {
  return low === null || high === null ? 'no interval' : `${figure(low)} to ${figure(high)}`;
}
