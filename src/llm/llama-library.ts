import { InputError } from '../core/errors.js';

/** Loads an npm package; a test passes one that answers for packages that are absent here. */
export type LoadPackage = (name: string) => Promise<unknown>;

/** What is used of node-llama-cpp (3.22), in its own names. It has a few hundred megabytes with all its builds, so that it is found at run time. */
export interface LlamaLibrary {
  getLlama(options: { gpu: 'auto' | false; build: 'never'; skipDownload: true; progressLogs: false; logger: () => void }): Promise<Llama>;
  getModuleVersion(): Promise<string>;
  readGgufFileInfo(path: string): Promise<{ metadata: { [group: string]: unknown } }>;
  LlamaText: new (...values: readonly unknown[]) => { tokenize(tokenizer: unknown): Token[] };
  SpecialTokensText: new (text: string) => object;
  LlamaGrammarEvaluationState: new (options: { model: LlamaModel; grammar: object }) => object;
}

export type Token = number;

export interface Llama {
  readonly gpu: string | false;
  loadModel(options: { modelPath: string }): Promise<LlamaModel>;
  createGrammarForJsonSchema(schema: unknown): Promise<object>;
  dispose(): Promise<void>;
}

export interface LlamaModel {
  readonly tokenizer: unknown;
  readonly tokens: { readonly bos: Token | null; readonly shouldPrependBosToken: boolean };
  createContext(options: { contextSize: number; sequences: 1; batchSize: number; threads: number }): Promise<LlamaContext>;
  tokenize(text: string): Token[];
  detokenize(tokens: readonly Token[], specialTokens?: boolean): string;
  isEogToken(token: Token): boolean;
  dispose(): Promise<void>;
}

export interface LlamaContext {
  getSequence(): LlamaSequence;
  dispose(): Promise<void>;
}

export interface LlamaSequence {
  clearHistory(): Promise<void>;
  evaluateWithMetadata(
    tokens: readonly Token[],
    metadata: { confidence: boolean; probabilities: boolean },
    options: {
      temperature: number;
      topK: number;
      topP: number;
      minP: number;
      seed: number;
      yieldEogToken: true;
      grammarEvaluationState: object | undefined;
    },
  ): AsyncGenerator<{ token: Token; confidence?: number; probabilities?: Map<Token, number> }, void>;
}

const PACKAGE = 'node-llama-cpp';

/**
 * Finds node-llama-cpp, which is optional: nothing of it is installed unless it is asked for. Throws InputError that says how to install it.
 */
export async function loadLlamaLibrary(load: LoadPackage = (name) => import(name)): Promise<LlamaLibrary> {
  let loaded: unknown;
  try {
    loaded = await load(PACKAGE);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ERR_MODULE_NOT_FOUND' ? 'is not installed' : `does not load (${message.split('\n')[0] ?? ''})`;
    throw new InputError(
      `${PACKAGE}, which runs GGUF models in this process, ${why}; without the builds for other machines: ` +
        `npm install --omit=optional --ignore-scripts ${PACKAGE}@3 @${PACKAGE}/${process.platform === 'darwin' ? 'mac' : process.platform === 'win32' ? 'win' : process.platform}-${process.arch}@3`,
    );
  }
  const { getLlama, getModuleVersion, readGgufFileInfo } = loaded as Partial<LlamaLibrary>;
  if ([getLlama, getModuleVersion, readGgufFileInfo].some((one) => typeof one !== 'function'))
    throw new InputError(`${PACKAGE}: expected version 3`);
  return loaded as LlamaLibrary;
}
