#!/usr/bin/env node
import { CheckFailedError, InputError, StoppedError, fromSystem } from '../core/errors.js';
import { main } from './run.js';

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  const error = fromSystem(thrown);
  if (error instanceof InputError) {
    process.stderr.write(`hopgate: ${error.message}\n`);
    process.exitCode = 2;
  } else if (error instanceof CheckFailedError || error instanceof StoppedError) {
    process.stderr.write(`hopgate: ${error.message}\n`);
    process.exitCode = 1;
  } else {
    process.stderr.write(`hopgate: internal error\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 70;
  }
}
