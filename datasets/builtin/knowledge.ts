import { architects, composers, painters, type ArtistRow } from './facts/artists.js';
import { cities } from './facts/cities.js';
import { countries } from './facts/countries.js';
import { elements } from './facts/elements.js';
import { films } from './facts/films.js';
import { novels } from './facts/novels.js';
import { rivers } from './facts/rivers.js';
import { royals } from './facts/royals.js';
import { scientists } from './facts/scientists.js';
import { directors, writers, type StorytellerRow } from './facts/storytellers.js';
import { universities } from './facts/universities.js';
import { compositions, landmarks, museums, paintings } from './facts/works.js';

export type Kind =
  | 'country'
  | 'city'
  | 'river'
  | 'university'
  | 'element'
  | 'scientist'
  | 'director'
  | 'writer'
  | 'royal'
  | 'composer'
  | 'painter'
  | 'architect'
  | 'film'
  | 'novel'
  | 'composition'
  | 'painting'
  | 'museum'
  | 'landmark';

/** One thing or person that has a page. */
export interface Entity {
  /** Title of its page; unique. */
  title: string;
  /** The title without the words in brackets that tell it from others. */
  name: string;
  kind: Kind;
  pronoun: 'he' | 'she' | 'it';
  /** Relation to value; a fact that is left out has no key. */
  facts: Readonly<Record<string, string>>;
  /** True sentences that say nothing any question asks for. */
  notes: readonly string[];
}

/** All entities of the built-in tables, by title, in table order. Throws where two have the same title. */
export function knowledge(): ReadonlyMap<string, Entity> {
  const all: Entity[] = [
    ...countries.map(([title, capital, currency, continent, highest, language, ...notes]) =>
      entity('country', title, 'it', { capital, currency, continent, highest, language }, notes),
    ),
    ...cities.map(([title, country, river, ...notes]) => entity('city', title, 'it', { country, river }, notes)),
    ...rivers.map(([title, source, mouth, km, ...notes]) =>
      entity('river', title, 'it', { source, mouth, km: km === 0 ? '' : String(km).replace(/\B(?=(\d{3})$)/u, ',') }, notes),
    ),
    ...universities.map(([title, city, founded, ...notes]) => entity('university', title, 'it', { city, founded }, notes)),
    ...elements.map(([title, symbol, number, discoverer, year, ...notes]) =>
      entity('element', title, 'it', { symbol, number, discoverer, year }, notes),
    ),
    ...scientists.map(([title, sex, nationality, occupation, born, birthplace, died, deathplace, university, ...notes]) =>
      entity('scientist', title, pronoun(sex), { nationality, occupation, born, birthplace, died, deathplace, university }, notes),
    ),
    ...directors.map((row) => storyteller('director', row)),
    ...writers.map((row) => storyteller('writer', row)),
    ...royals.map(([title, sex, office, born, died, father, mother, spouse, ...notes]) =>
      entity('royal', title, pronoun(sex), { office, born, died, father, mother, spouse }, notes),
    ),
    ...composers.map((row) => artist('composer', row)),
    ...painters.map((row) => artist('painter', row)),
    ...architects.map((row) => artist('architect', row)),
    ...films.map(([title, year, genre, director, star, ...notes]) => entity('film', title, 'it', { year, genre, director, star }, notes)),
    ...novels.map(([title, year, genre, author, ...notes]) => entity('novel', title, 'it', { year, genre, author }, notes)),
    ...compositions.map(([title, type, composer, year, ...notes]) => entity('composition', title, 'it', { type, composer, year }, notes)),
    ...paintings.map(([title, painter, museum, ...notes]) => entity('painting', title, 'it', { painter, museum }, notes)),
    ...museums.map(([title, city, ...notes]) => entity('museum', title, 'it', { city }, notes)),
    ...landmarks.map(([title, type, city, architect, ...notes]) => entity('landmark', title, 'it', { type, city, architect }, notes)),
  ];
  const byTitle = new Map<string, Entity>();
  for (const one of all) {
    if (byTitle.has(one.title)) throw new Error(`built-in facts: two entities have the title ${JSON.stringify(one.title)}`);
    byTitle.set(one.title, one);
  }
  return byTitle;
}

function entity(
  kind: Kind,
  title: string,
  pronoun: Entity['pronoun'],
  facts: Readonly<Record<string, string>>,
  notes: readonly string[],
): Entity {
  // Halle (Saale) is the city's own name; other brackets only tell titles apart.
  const name = kind === 'city' ? title : title.replace(/ \([^)]*\)$/u, '');
  return { title, name, kind, pronoun, facts: Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== '')), notes };
}

function storyteller(kind: Kind, row: StorytellerRow): Entity {
  const [title, sex, nationality, occupation, born, birthplace, died, deathplace, spouse, father, ...notes] = row;
  return entity(kind, title, pronoun(sex), { nationality, occupation, born, birthplace, died, deathplace, spouse, father }, notes);
}

function artist(kind: Kind, row: ArtistRow): Entity {
  const [title, sex, nationality, occupation, born, birthplace, died, deathplace, ...notes] = row;
  return entity(kind, title, pronoun(sex), { nationality, occupation, born, birthplace, died, deathplace }, notes);
}

function pronoun(sex: 'm' | 'f'): 'he' | 'she' {
  return sex === 'm' ? 'he' : 'she';
}
