import type { Command } from '../command.js';
import { embed } from './embed.js';

/** Every command of this version, in the order in which the usage lists them. */
export const commands: readonly Command[] = [embed];
