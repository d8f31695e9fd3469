import { z } from 'zod';
import { shown } from '../core/errors.js';
import type { RetrievedDocument } from '../core/retrieved-pages.js';
import { SPLITTER, splitSentences } from '../core/sentences.js';
import { serverAddress, shownAddress } from '../core/server-address.js';
import { titled } from './corpus-file.js';
import { type PassageSource, RetrieverError } from './passage-source.js';

export interface HttpPassagesOptions {
  /** Sends JSON and gives back the JSON of the reply, in bounded time; retries are its own. */
  post: (address: string, body: unknown, options: { signal?: AbortSignal | undefined }) => Promise<unknown>;
  /** What the server's index is called, for manifests; null where the user does not say. */
  name: string | null;
}

const document = z.object({
  contents: z.string().nullish(),
  text: z.string().nullish(),
  title: z.string().nullish(),
});
const hit = z.union([z.object({ document, score: z.number() }), document]);
const reply = z.object({ result: z.array(z.array(hit)) });

/**
 * Passages of a server that speaks the `/retrieve` protocol of Search-R1 and FlashRAG: `{queries, topk, return_scores: true}` to
 * `{result: [[{document: {contents}, score}]]}`, one list a query; without scores the documents alone. A document is split here. What
 * lies behind the address is the server's affair: manifests have only the name that the user gives it.
 */
export function httpPassages(url: string, { post, name }: HttpPassagesOptions): PassageSource {
  const address = retrieveAddress(url);
  const where = shownAddress(address);
  return {
    identity: { retriever: 'http', unit: 'passage', protocol: 'retrieve', index: name, splitter: SPLITTER },
    find: async (query, top, { signal } = {}) => {
      const answer = await post(address, { queries: [query], topk: top, return_scores: true }, { signal }).catch((error: unknown) => {
        signal?.throwIfAborted();
        throw new RetrieverError((error as Error).message);
      });
      const parsed = reply.safeParse(answer);
      const [found] = parsed.data?.result ?? [];
      if (!found || parsed.data?.result.length !== 1)
        throw new RetrieverError(`${where}: got ${shown(answer, 60)}, expected {"result": [[…]]} with one list of documents`);
      return found.slice(0, top).map((one) => ('document' in one ? documentOf(where, one.document, one.score) : documentOf(where, one, 0)));
    },
  };
}

function documentOf(where: string, { contents, text, title }: z.infer<typeof document>, score: number): RetrievedDocument {
  const whole = contents ?? text;
  if (whole === null || whole === undefined) throw new RetrieverError(`${where}: got a document without contents`);
  const read = contents === null || contents === undefined ? { title: title ?? '', text: whole } : titled(contents, title);
  return { title: read.title, sentences: splitSentences(read.text), score };
}

/** The server's address, `/retrieve` put behind it where it has no path. Throws InputError that names the flag. */
export function retrieveAddress(url: string): string {
  const { origin, pathname, search } = serverAddress('--retrieve-url', url, 'http://localhost:8000/retrieve');
  return `${origin}${pathname === '/' ? '/retrieve' : pathname}${search}`;
}
