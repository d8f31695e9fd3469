import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { BROWSERS, FLAGS } from './browser.js';

export interface BrowserPage {
  /** Loads an address and waits for it; what the last page said is forgotten. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  press(key: string): Promise<void>;
  /** CSS pixels. */
  resize(width: number, height: number): Promise<void>;
  emulate(media: '' | 'print', scheme?: 'light' | 'dark'): Promise<void>;
  /** Whether the page's own script runs. */
  scripting(on: boolean): Promise<void>;
  screenshot(): Promise<Buffer>;
  pdf(): Promise<Buffer>;
  /** Errors and warnings of the console, exceptions, violations of the page's policy. */
  readonly complaints: string[];
  /** Every address that was asked for. */
  readonly requests: string[];
}

interface Message {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: { [name: string]: unknown };
  result?: { [name: string]: unknown };
  error?: { message: string };
}

/** A page in a real headless browser, spoken to over a pipe; undefined after skipping the test with the reason. Closed when the test ends. */
export async function browserPageOrSkip(t: TestContext): Promise<BrowserPage | undefined> {
  const browser = BROWSERS.find((name) => spawnSync(name, ['--version'], { encoding: 'utf8' }).status === 0);
  if (browser === undefined) {
    t.skip(`needs browser: none of ${BROWSERS.join(', ')} is on the path`);
    return undefined;
  }
  const profile = mkdtempSync(join(tmpdir(), 'hopgate-browser-'));
  const child = spawn(browser, [...FLAGS, '--remote-debugging-pipe', `--user-data-dir=${profile}`], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const [to, from] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
  t.after(async () => {
    to.end(`${JSON.stringify({ id: 0, method: 'Browser.close' })}\0`);
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await gone;
    clearTimeout(late);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });

  const asked = new Map<number, (message: Message) => void>();
  const complaints: string[] = [];
  const requests: string[] = [];
  let loaded = (): void => undefined;
  let [last, buffer, sessionId] = [0, '', undefined as string | undefined];
  const heard = (message: Message): void => {
    if (message.id !== undefined) return asked.get(message.id)?.(message);
    const params = message.params as { [name: string]: { [name: string]: string } } | undefined;
    if (message.method === 'Page.loadEventFired') loaded();
    if (message.method === 'Network.requestWillBeSent') requests.push(params?.request?.url as string);
    if (message.method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(params?.exceptionDetails));
    if (message.method === 'Runtime.consoleAPICalled') complaints.push(JSON.stringify(params?.args));
    if (message.method === 'Log.entryAdded') complaints.push(`${params?.entry?.level}: ${params?.entry?.text} ${params?.entry?.url ?? ''}`);
  };
  from.setEncoding('utf8').on('data', (part: string) => {
    const messages = `${buffer}${part}`.split('\0');
    buffer = messages.pop() as string;
    for (const message of messages) heard(JSON.parse(message) as Message);
  });
  const send = (method: string, params: object = {}): Promise<{ [name: string]: unknown }> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      asked.set(id, ({ result = {}, error }) => {
        asked.delete(id);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result);
      });
      to.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`);
    });

  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  sessionId = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId as string;
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`);
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value: T }).value;
  };
  return {
    complaints,
    requests,
    evaluate,
    open: async (url) => {
      [complaints.length, requests.length] = [0, 0];
      const done = new Promise<void>((resolve) => (loaded = resolve));
      await send('Page.navigate', { url });
      await done;
    },
    press: async (key) => {
      const text = key === 'Enter' ? '\r' : key === ' ' ? ' ' : undefined;
      const code = { Tab: 9, Enter: 13, ' ': 32, ArrowLeft: 37, ArrowRight: 39 }[key];
      const event = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: code };
      await send('Input.dispatchKeyEvent', {
        type: text === undefined ? 'rawKeyDown' : 'keyDown',
        ...event,
        ...(text !== undefined && { text }),
      });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
    resize: async (width, height) => {
      await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    },
    emulate: async (media, scheme = 'light') => {
      await send('Emulation.setEmulatedMedia', { media, features: [{ name: 'prefers-color-scheme', value: scheme }] });
    },
    scripting: async (on) => {
      await send('Emulation.setScriptExecutionDisabled', { value: !on });
    },
    screenshot: async () => Buffer.from((await send('Page.captureScreenshot', { captureBeyondViewport: true })).data as string, 'base64'),
    pdf: async () => Buffer.from((await send('Page.printToPDF')).data as string, 'base64'),
  };
}
