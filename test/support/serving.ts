import { request } from 'node:http';
import { type Gate, type GateLogSink, type GateOptions, type RunningService, type StartOptions, loadServer } from '../../runtime/index.js';
import { type Script, type ScriptedGate, scriptedGate } from './scripted-gate.js';

export interface Served {
  status: number;
  headers: { [name: string]: string | string[] | undefined };
  text: string;
  /** The body, where it is JSON. */
  body: { [field: string]: unknown };
}

export interface Asked {
  /** Sent as it is. */
  raw?: Buffer | string;
  json?: unknown;
  headers?: { [name: string]: string };
}

/** One request as it is, its path not made tidy. */
export function ask(address: string, method: string, path: string, { raw, json, headers = {} }: Asked = {}): Promise<Served> {
  const { hostname, port } = new URL(address);
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        hostname,
        port,
        method,
        path,
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      },
      (reply) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (part: string) => (text += part));
        reply.on('end', () => {
          const isJson = /json/.test(reply.headers['content-type'] ?? '');
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            text,
            body: isJson ? (JSON.parse(text) as { [field: string]: unknown }) : {},
          });
        });
        reply.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

export interface Serving {
  address: string;
  running: RunningService;
  scripted: ScriptedGate;
  ask: (method: string, path: string, asked?: Asked) => Promise<Served>;
}

/** The real service on a free loopback port, over a gate of small real parts. Close it behind the test. */
export async function serving(
  script: Script,
  { gate, ...options }: Partial<Omit<StartOptions, 'gateOf'>> & { gate?: Partial<GateOptions> } = {},
): Promise<Serving> {
  let scripted: ScriptedGate | undefined;
  const { startService } = await loadServer();
  const running = await startService({
    gateOf: (log: GateLogSink): Gate => {
      scripted = scriptedGate(script, { ...gate, log });
      return scripted.gate;
    },
    requestsPerMinute: null,
    ...options,
  });
  const { address } = running.http;
  return { address, running, scripted: scripted as ScriptedGate, ask: (...args) => ask(address, ...args) };
}
