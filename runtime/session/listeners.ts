import { errorText } from './gate-errors.js';

/** Tells a host's listener. One that throws is no reason to leave a loop without its line, or a question without its answer. */
export function toldSafely(tell: () => void): void {
  try {
    tell();
  } catch (error) {
    process.emitWarning(`a listener of the gate failed: ${errorText(error)}`);
  }
}
