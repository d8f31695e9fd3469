import type { TestContext } from 'node:test';
import { type HostUnderTest, hostMatrix } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { langChainHost, openLangChain } from './langchain-host.js';

const by =
  (options: Parameters<typeof langChainHost>[1]) =>
  async (t: TestContext): Promise<HostUnderTest | undefined> => {
    const packages = hostPackagesOrSkip(t, 'langchain');
    return packages && langChainHost(await openLangChain(packages), options);
  };

hostMatrix('LangChain.js', by({}));
hostMatrix('LangChain.js, tools in one node', by({ version: 'v1' }));
hostMatrix('LangChain.js, no tools listed', by({ settings: { finalStep: 'noTools' } }));
