// What the mock models of the examples say. Like a real model it reads what it is sent, and like some it never stops searching by itself.

export const QUESTION = 'Where was the director of The Salt Lantern born?';

/**
 * @param {{ text: string, tools: boolean }} request everything the model is shown, and whether it may call a tool
 * @returns {{ query: string } | { answer: string }}
 */
export function reply({ text, tools }) {
  const director = /The Salt Lantern is a \d+ film directed by ([A-Z]\w+ [A-Z]\w+)/.exec(text)?.[1];
  const place = director === undefined ? undefined : new RegExp(`${director} was born in ([A-Z]\\w+ [A-Z]\\w+)`).exec(text)?.[1];
  if (!tools) return { answer: place === undefined ? 'What was found does not say.' : `${director} was born in ${place}.` };
  if (director === undefined) return { query: 'The Salt Lantern film director' };
  return { query: place === undefined ? `${director} born` : `${place} town` };
}
