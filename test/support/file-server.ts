import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** One file of the server, and how it misbehaves. Fields may be changed between requests. */
export interface Served {
  bytes: Uint8Array;
  /** Sent as it is; default none. */
  etag?: string | undefined;
  lastModified?: string | undefined;
  /** Whether `Range` is heeded; default true. */
  ranges?: boolean | undefined;
  /** One entry is used up by each request: the answer's status instead of the file. */
  statuses?: number[];
  /** One entry is used up by each answer with content: the connection breaks after so many bytes of it. */
  cuts?: number[];
  /** Said in `Content-Range` instead of the size. */
  total?: number | undefined;
  redirect?: string | undefined;
  headers?: { [name: string]: string };
  /** No `Content-Length`: chunked. */
  chunked?: boolean;
  /** Bytes sent at once, with a pause of 1 ms behind them; default all. */
  slice?: number;
  /** The connection stays open and silent after the headers. */
  silent?: boolean;
}

export interface FileServer {
  url: string;
  files: { [path: string]: Served };
  /** Every request, in order. */
  requests: { path: string; range: string | undefined; ifRange: string | undefined }[];
  /** Bytes of content that were handed to the connection. */
  sent: number;
}

/** A server on loopback for downloads, closed when the test ends. */
export async function serveFiles(t: { after(fn: () => unknown): void }, files: { [path: string]: Served }): Promise<FileServer> {
  const state: FileServer = { url: '', files, requests: [], sent: 0 };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const range = request.headers.range;
    const ifRange = request.headers['if-range'];
    state.requests.push({ path, range, ifRange: Array.isArray(ifRange) ? ifRange[0] : ifRange });
    const file = state.files[path];
    const status = file?.statuses?.shift() ?? (file ? 200 : 404);
    if (!file || status !== 200) return response.writeHead(status, file?.headers).end('an error page');
    if (file.redirect !== undefined) return response.writeHead(302, { location: file.redirect, ...file.headers }).end();
    const size = file.bytes.length;
    const current = ifRange === undefined || ifRange === file.etag || ifRange === file.lastModified;
    const from = range !== undefined && file.ranges !== false && current ? Number(/^bytes=(\d+)-$/.exec(range)?.[1]) : 0;
    const partial = from > 0;
    if (partial && from >= size) return response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    response.writeHead(partial ? 206 : 200, {
      ...(file.etag !== undefined && { etag: file.etag }),
      ...(file.lastModified !== undefined && { 'last-modified': file.lastModified }),
      ...(!file.chunked && { 'content-length': size - from }),
      ...(partial && { 'content-range': `bytes ${from}-${size - 1}/${file.total ?? size}` }),
      ...file.headers,
    });
    response.flushHeaders();
    if (file.silent) return;
    const cut = file.cuts?.shift();
    const end = cut === undefined ? size : Math.min(size, from + cut);
    void (async () => {
      for (let at = from; at < end && !response.destroyed; at += file.slice ?? size) {
        const to = Math.min(end, at + (file.slice ?? size));
        await new Promise((done) => response.write(file.bytes.subarray(at, to), done));
        state.sent += to - at;
        if (file.slice !== undefined) await wait(1);
      }
      if (cut === undefined) response.end();
      // An orderly end, so that what was sent arrives.
      else response.socket?.end();
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return state;
}
