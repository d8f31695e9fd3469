import { parseRequest } from './parse-request.js';
import { asServiceError } from './replies.js';
import { ServiceError } from './service-error.js';
import type { Service } from './service.js';
import { type BatchReply, batchItem } from './wire.js';

/** Answers each request of a batch for itself: those of one session in their order, those of several beside each other. */
export async function answerBatch(service: Service, requests: readonly unknown[]): Promise<BatchReply> {
  const turns = new Map<string, Promise<unknown>>();
  const results = requests.map((request, at) => {
    const id = sessionOf(request);
    const before = id === undefined ? undefined : turns.get(id);
    const mine = (before ?? Promise.resolve()).then(() => answered(service, request, at));
    if (id !== undefined) turns.set(id, mine);
    return mine;
  });
  return { results: await Promise.all(results) };
}

async function answered(service: Service, request: unknown, at: number): Promise<BatchReply['results'][number]> {
  try {
    const item = parseRequest(batchItem, request, ['requests', at]);
    switch (item.op) {
      case 'open': {
        const { op: _, ...open } = item;
        return { status: 201, body: await service.openSession(open) };
      }
      case 'observe': {
        const { op: _, session, ...observe } = item;
        return { status: 200, body: await service.observe(session, observe) };
      }
      case 'verdict': {
        const { op: _, session, ...verdict } = item;
        return { status: 200, body: await service.verdict(session, verdict) };
      }
      case 'stop':
        return { status: 200, body: service.stop(item.session) };
      case 'get':
        return { status: 200, body: service.get(item.session) };
      case 'close':
        return { status: 200, body: service.close(item.session) };
    }
  } catch (error) {
    const refused = asServiceError(error);
    if (!(refused instanceof ServiceError)) throw refused;
    return { status: refused.status, body: refused.body };
  }
}

function sessionOf(request: unknown): string | undefined {
  const id = (request as { session?: unknown } | null)?.session;
  return typeof id === 'string' ? id : undefined;
}
