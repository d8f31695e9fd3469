import type { Command } from '../command.js';
import { calibrate } from './calibrate.js';
import { claimsBuild } from './claims-build.js';
import { dataConvert } from './data-convert.js';
import { dataDoctor } from './data-doctor.js';
import { dataDownload } from './data-download.js';
import { decide } from './decide.js';
import { demo } from './demo.js';
import { drafterTrain } from './drafter-train.js';
import { drafterEvaluate } from './drafter-evaluate.js';
import { embed } from './embed.js';
import { explain } from './explain.js';
import { labelsBuild } from './labels-build.js';
import { modelsList } from './models-list.js';
import { modelsPull } from './models-pull.js';
import { modelsVerify } from './models-verify.js';
import { replay } from './replay.js';
import { report } from './report.js';
import { smallEvaluate } from './small-evaluate.js';
import { smallTrain } from './small-train.js';
import { trajectoriesRun } from './trajectories-run.js';
import { verifierEvaluate } from './verifier-evaluate.js';
import { verifierImport } from './verifier-import.js';
import { verifierPlan } from './verifier-plan.js';
import { verifierScore } from './verifier-score.js';
import { verifierTrain } from './verifier-train.js';

/** Every command of this version, in the order in which the usage lists them. */
export const commands: readonly Command[] = [
  demo,
  dataDoctor,
  dataConvert,
  dataDownload,
  claimsBuild,
  labelsBuild,
  embed,
  modelsList,
  modelsPull,
  modelsVerify,
  drafterTrain,
  drafterEvaluate,
  smallTrain,
  smallEvaluate,
  verifierPlan,
  verifierTrain,
  verifierImport,
  verifierScore,
  verifierEvaluate,
  trajectoriesRun,
  decide,
  calibrate,
  explain,
  replay,
  report,
];
