import type { Command } from '../command.js';

/** Every command of this version, in the order in which the usage lists them. Only the one that is run is loaded: it starts twice as fast. */
const COMMANDS = {
  demo: async () => (await import('./demo.js')).demo,
  'data doctor': async () => (await import('./data-doctor.js')).dataDoctor,
  'data convert': async () => (await import('./data-convert.js')).dataConvert,
  'data download': async () => (await import('./data-download.js')).dataDownload,
  'claims build': async () => (await import('./claims-build.js')).claimsBuild,
  'labels build': async () => (await import('./labels-build.js')).labelsBuild,
  'corpus embed': async () => (await import('./corpus-embed.js')).corpusEmbed,
  embed: async () => (await import('./embed.js')).embed,
  'models list': async () => (await import('./models-list.js')).modelsList,
  'models pull': async () => (await import('./models-pull.js')).modelsPull,
  'models verify': async () => (await import('./models-verify.js')).modelsVerify,
  'drafter train': async () => (await import('./drafter-train.js')).drafterTrain,
  'drafter evaluate': async () => (await import('./drafter-evaluate.js')).drafterEvaluate,
  'small train': async () => (await import('./small-train.js')).smallTrain,
  'small evaluate': async () => (await import('./small-evaluate.js')).smallEvaluate,
  'verifier plan': async () => (await import('./verifier-plan.js')).verifierPlan,
  'verifier train': async () => (await import('./verifier-train.js')).verifierTrain,
  'verifier import': async () => (await import('./verifier-import.js')).verifierImport,
  'verifier score': async () => (await import('./verifier-score.js')).verifierScore,
  'verifier evaluate': async () => (await import('./verifier-evaluate.js')).verifierEvaluate,
  'trajectories run': async () => (await import('./trajectories-run.js')).trajectoriesRun,
  'trajectories import': async () => (await import('./trajectories-import.js')).trajectoriesImport,
  decide: async () => (await import('./decide.js')).decide,
  extract: async () => (await import('./extract.js')).extract,
  calibrate: async () => (await import('./calibrate.js')).calibrate,
  explain: async () => (await import('./explain.js')).explain,
  replay: async () => (await import('./replay.js')).replay,
  trial: async () => (await import('./trial.js')).trial,
  serve: async () => (await import('./serve.js')).serve,
  report: async () => (await import('./report.js')).report,
} as const satisfies { [name: string]: () => Promise<Command> };

const names = Object.keys(COMMANDS) as (keyof typeof COMMANDS)[];

/** All commands, for what lists them. */
export async function allCommands(): Promise<Command[]> {
  const loaded: Command[] = [];
  for (const name of names) loaded.push(await COMMANDS[name]());
  return loaded;
}

/** The command that an argument list names with its first words, alone; all of them where it names none. */
export async function commandsFor(argv: readonly string[]): Promise<Command[]> {
  const name = names.find((one) => one === argv.slice(0, one.split(' ').length).join(' '));
  return name === undefined ? allCommands() : [await COMMANDS[name]()];
}
