import type { Command } from '../command.js';
import { claimsBuild } from './claims-build.js';
import { embed } from './embed.js';
import { labelsBuild } from './labels-build.js';

/** Every command of this version, in the order in which the usage lists them. */
export const commands: readonly Command[] = [claimsBuild, labelsBuild, embed];
