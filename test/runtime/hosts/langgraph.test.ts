import type { TestContext } from 'node:test';
import { type HostUnderTest, hostMatrix } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { langGraphHost, openLangGraph } from './langgraph-host.js';

hostMatrix('LangGraph.js', async (t: TestContext): Promise<HostUnderTest | undefined> => {
  const packages = hostPackagesOrSkip(t, 'langgraph');
  return packages && langGraphHost(await openLangGraph(packages));
});
