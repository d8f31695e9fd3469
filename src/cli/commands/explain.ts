import { readProfile } from '../../../runtime/index.js';
import { explainProfile, isDiagnostic } from '../../evaluate/index.js';
import { type Command, READS_ONLY } from '../command.js';
import { profilePath } from '../profile-path.js';

export const explain: Command = {
  path: 'explain <profile>',
  ignores: READS_ONLY,
  describe: 'a calibration profile in words: what to expect, where it holds, where it does not',
  positionals: { profile: 'profile.json, or the folder of a calibration' },
  options: {},
  run: async (args, terminal) => {
    const path = await profilePath(args.profile as string);
    const profile = await readProfile(path);
    const text = explainProfile(profile);
    terminal.print(text);
    return {
      out: null,
      counts: { datasets: profile.datasets.length, folds: profile.folds.length, misses: profile.folds.filter((one) => one.miss).length },
      quarantined: {},
      warnings: [],
      diagnostic: isDiagnostic(profile),
      profile,
      text,
    };
  },
};
