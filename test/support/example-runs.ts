import type { GateLog, GateSettings, LoggedSession } from '../../src/core/gate-log.js';
import { type Script, type ScriptedGate, scriptedGate } from './scripted-gate.js';

export interface ExampleRun {
  log: GateLog;
  session: LoggedSession;
  settings: GateSettings;
}

/** What means something in HTML, in an attribute, in a style, or to the direction of text. */
export const HOSTILE = `</script><script>window.hit=1</script><img src=x onerror="window.hit=1"> "quoted' & \u202Ereversed`;

/** Three searches: far from both claims, near the first, near both. The numbers at a text's end are its vector. */
export const SEARCHES: readonly (readonly { title: string; text: string }[])[] = [
  [
    { title: 'Elsewhere', text: 'A sentence on something else. 0,0,1' },
    { title: 'Elsewhere', text: 'Another one. 0.3,0.1,1' },
  ],
  [{ title: 'First hop', text: 'The first fact stands here. 1,0,0' }],
  [{ title: 'Second hop', text: 'The second fact stands here. 0,1,0' }],
];

/** One question run by a real gate of small parts, with everything logged unless `gate.content` says otherwise. */
export async function exampleRun(
  script: Script,
  { gate = {}, question = 'Who founded the town?', searches = SEARCHES, runOn = false }: { gate?: Parameters<typeof scriptedGate>[1]; question?: string; searches?: typeof SEARCHES; runOn?: boolean } = {}, // prettier-ignore
): Promise<ExampleRun> {
  const scripted: ScriptedGate = scriptedGate(script, { content: true, ...gate });
  const session = await scripted.gate.open(question, { id: 'one', questionId: 'q-1', runOn });
  for (const [at, sentences] of searches.entries()) {
    if (session.stoppedBy !== null) break;
    scripted.clock.now += 800;
    await session.observe(sentences, { query: at === 0 ? question : `follow-up ${at}` });
  }
  session.finish();
  const log = scripted.read();
  const [header] = [...log.gates.values()];
  return { log, session: log.sessions[0] as LoggedSession, settings: (header as { settings: GateSettings }).settings };
}
