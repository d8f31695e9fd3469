import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

/** Waits until a server that was just started answers, or has ended. */
export async function answering(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    const up = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (up) return;
    assert.equal(server.exitCode, null, 'the server ended');
    await wait(100);
  }
}
