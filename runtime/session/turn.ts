import { AsyncLocalStorage } from 'node:async_hooks';

/** A session's turn, from inside which it cannot be asked again: it would wait for itself. */
interface Turn {
  session: string;
  over: boolean;
}

const turns = new AsyncLocalStorage<readonly Turn[]>();

/** Runs work as a session's turn. */
export async function inside<T>(session: string, work: () => Promise<T>): Promise<T> {
  const turn: Turn = { session, over: false };
  try {
    return await turns.run([...(turns.getStore() ?? []), turn], work);
  } finally {
    // What the work left running may ask the session again.
    turn.over = true;
  }
}

/** Whether this code runs inside a turn of the session that is not over. */
export function isInside(session: string): boolean {
  return (turns.getStore() ?? []).some((turn) => turn.session === session && !turn.over);
}
