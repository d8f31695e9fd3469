// A corpus of our own (nothing in it is true), and a search by shared words.

/** @type {readonly { title: string, text: string }[]} */
export const CORPUS = [
  { title: 'The Salt Lantern', text: 'The Salt Lantern is a 1961 film directed by Ines Valdorra.' },
  { title: 'The Salt Lantern', text: 'It was shot in eleven weeks on the quays of Harrowmouth.' },
  { title: 'The Paper Harbour', text: 'The Paper Harbour is a 1958 film directed by Tomas Brell.' },
  { title: 'The Paper Harbour', text: 'Its score was lost in a fire at the studio.' },
  { title: 'Ines Valdorra', text: 'Ines Valdorra was a film director and a painter of ships.' },
  { title: 'Ines Valdorra', text: 'Ines Valdorra was born in Port Merrin.' },
  { title: 'Tomas Brell', text: 'Tomas Brell was born in Osterwick and taught there.' },
  { title: 'Port Merrin', text: 'Port Merrin is a town on the northern coast with a tide mill.' },
  { title: 'Osterwick', text: 'Osterwick lies inland and has had a university since 1740.' },
];

/**
 * The sentences that share most words with the query.
 *
 * @param {string} query
 */
export function search(query, most = 2) {
  const wanted = wordsOf(query);
  const scored = CORPUS.map((sentence) => ({
    sentence,
    score: wordsOf(`${sentence.title} ${sentence.text}`).filter((word) => wanted.includes(word)).length,
  }));
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ sentence }) => sentence);
}

/** @param {string} text */
function wordsOf(text) {
  return [...new Set(text.toLowerCase().match(/[a-z]{3,}/g) ?? [])];
}
