import type { TestContext } from 'node:test';
import { type HostUnderTest, hostMatrix } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { aiHost, openAi } from './ai-sdk-host.js';

const VERSIONS = [
  { name: 'ai 6', example: 'ai-sdk-6', mock: 'MockLanguageModelV3' },
  { name: 'ai 7', example: 'ai-sdk-7', mock: 'MockLanguageModelV4' },
] as const;

for (const { name, example, mock } of VERSIONS) {
  const by =
    (...how: Parameters<typeof aiHost> extends [unknown, ...infer Rest] ? Rest : never) =>
    async (t: TestContext): Promise<HostUnderTest | undefined> => {
      const packages = hostPackagesOrSkip(t, example);
      return packages && aiHost(await openAi(packages, mock), ...how);
    };
  hostMatrix(`${name}, generateText`, by('generateText'));
  hostMatrix(`${name}, streamText`, by('streamText'));
  hostMatrix(`${name}, ToolLoopAgent`, by('ToolLoopAgent'));
}
