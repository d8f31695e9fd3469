import { refusedSearch } from '../session/final-instruction.js';
import type { GuardedSearch } from './guarded-search.js';
import { searchingTools } from './searching-tools.js';

/** What is read of a tool: of the Vercel AI SDK, and of a step in Mastra, whose tools have the same form. */
interface Tool {
  execute?: ((input: unknown, options: { abortSignal?: AbortSignal } | undefined) => unknown) | undefined;
  toModelOutput?: ((given: unknown) => unknown) | undefined;
}

/** Names of the tools that the host runs itself. */
export function runnableTools(tools: object): string[] {
  return (Object.entries(tools) as [string, Tool][]).filter(([, tool]) => typeof tool.execute === 'function').map(([name]) => name);
}

/**
 * The tools with a guard in each `execute`: those that search run through the session, and none runs once it has stopped, whatever the host
 * makes of its own settings (known faults P80, P81). Throws InputError where it is not plain which one searches.
 */
export function guardedTools(tools: object, guard: GuardedSearch, search: readonly string[] | undefined): { [name: string]: object } {
  const runnable = runnableTools(tools);
  const searching = searchingTools(runnable, search);
  return Object.fromEntries(
    (Object.entries(tools) as [string, Tool][]).map(([name, tool]) => [
      name,
      runnable.includes(name) ? guardedTool(tool, guard, searching.includes(name)) : tool,
    ]),
  );
}

function guardedTool(tool: Tool, guard: GuardedSearch, searches: boolean): Tool {
  const { toModelOutput } = tool;
  const isRefusal = (value: unknown): value is string => typeof value === 'string' && value === refusedSearch(guard.session);
  return {
    ...tool,
    execute: (input, options) => {
      const run = (): unknown => tool.execute?.(input, options);
      return searches ? guard.search(input, run, options?.abortSignal) : guard.other(run);
    },
    // What it makes of a result it need not make of a refusal. ai gives it `{ output }`, Mastra the output itself.
    ...(toModelOutput && {
      toModelOutput: (given: unknown) => {
        const output: unknown = typeof given === 'object' && given !== null && 'output' in given ? given.output : given;
        return isRefusal(output) ? { type: 'text', value: output } : toModelOutput(given);
      },
    }),
  };
}
