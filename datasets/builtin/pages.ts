import { random, type Random } from '../../src/core/random.js';
import type { Entity } from './knowledge.js';
import { wording } from './wording.js';

export interface Sentence {
  text: string;
  /** The relations whose value the sentence states; empty for a note. */
  about: readonly string[];
}

export interface Page {
  title: string;
  sentences: readonly Sentence[];
}

/**
 * The page of an entity: a lead with its name, then sentences that mostly say "he", "she" or "it", with the notes between them. The
 * draw depends on seed and title alone, so an entity has the same page in every dataset of one seed.
 */
export function makePage(entity: Entity, seed: number): Page {
  const draw = random(seed, 'page', entity.title);
  const { leads, groups } = wording[entity.kind];
  const stated = new Set<string>();
  const say = (template: string): Sentence => {
    const about = factsOf(template);
    for (const fact of about) stated.add(fact);
    return { text: fill(template, entity), about };
  };
  const usable = (template: string): boolean => factsOf(template).every((fact) => entity.facts[fact] !== undefined);
  const lead = leads.map((group) => group.filter(usable)).find((group) => group.length > 0) ?? ['{Name}.'];
  const sentences = [say(pick(lead, draw))];
  for (const group of groups) {
    const fresh = group.filter((template) => usable(template) && factsOf(template).every((fact) => !stated.has(fact)));
    if (fresh.length > 0) sentences.push(say(pick(fresh, draw)));
  }
  for (const note of entity.notes) sentences.splice(1 + draw.int(sentences.length), 0, { text: note, about: [] });
  return { title: entity.title, sentences };
}

/** Position of the first sentence that states a relation. Throws where the page does not state it. */
export function sentenceAbout(page: Page, relation: string): number {
  const index = page.sentences.findIndex((sentence) => sentence.about.includes(relation));
  if (index < 0) throw new Error(`built-in page ${JSON.stringify(page.title)} does not state ${relation}`);
  return index;
}

/** A name as it stands inside a sentence: "the Danube", "the University of Vienna", "nitrogen", "Vienna". */
export function mention(entity: Entity): string {
  if (entity.kind === 'element') return entity.name.toLowerCase();
  if (entity.kind === 'river' || entity.kind === 'museum') return `the ${entity.name}`;
  if (entity.kind === 'landmark') return LANDMARKS_WITH_THE.test(entity.name) ? `the ${entity.name}` : entity.name;
  return withArticle(entity.name);
}

/** What a person is called after the first mention. */
export function surname(entity: Entity): string {
  if (entity.kind === 'royal' || entity.pronoun === 'it') return entity.name;
  return SURNAMES[entity.name] ?? entity.name.split(' ').at(-1) ?? entity.name;
}

export function withArticle(name: string): string {
  return TAKES_THE.test(name) ? `the ${name}` : name;
}

const TAKES_THE = new RegExp(
  [
    '^(United|Netherlands|Czech Republic|University of|Massachusetts Institute)',
    '^(Gulf|Bay|Firth) of',
    '(Sea|Ocean|Channel|estuary|River)$',
    '^River ',
    '^(Oka|Ob|Rhine|Elbe|Havel|Aller|Inn|Drava|Aare|Ganges|Jarama|Danube)$',
    '^(Louvre|Rijksmuseum|Mauritshuis|Uffizi)$',
    '^(Musée|Museo|Museum|Österreichische|Kunsthistorisches|Art Institute|Gemäldegalerie|National Gallery)',
    '^(Czartoryski|Hermitage|Hamburger|British Museum|Van Gogh Museum|Alte|Solomon)',
  ].join('|'),
  'u',
);

const LANDMARKS_WITH_THE =
  /^(Sagrada|Sydney|Gateway|Trevi|Brandenburg|Smolny|Louvre|Brooklyn|Eiffel|Széchenyi|Taj|Atomium|Alhambra|Parthenon|Rialto|Ponte|CN|Golden|Zytglogge)/u;

const SURNAMES: Readonly<Record<string, string>> = {
  'Leonardo da Vinci': 'Leonardo',
  'Galileo Galilei': 'Galileo',
  'Vincent van Gogh': 'Van Gogh',
  'Jan van Eyck': 'Van Eyck',
  'Antonie van Leeuwenhoek': 'Van Leeuwenhoek',
  'John von Neumann': 'Von Neumann',
  'Andrés Manuel del Río': 'Del Río',
  'Paul-Émile Lecoq de Boisbaudran': 'Lecoq de Boisbaudran',
  'Johann Strauss II': 'Strauss',
  'Pieter Bruegel the Elder': 'Bruegel',
  'Vittorio De Sica': 'De Sica',
  'Gabriel García Márquez': 'García Márquez',
  'Giuseppe Tomasi di Lampedusa': 'Tomasi di Lampedusa',
};

const OWN = new Set(['name', 'Name', 'last', 'He', 'he', 'His', 'his', 'was', 'son', 'wife']);

function factsOf(template: string): string[] {
  return [...template.matchAll(/\{(?:\w+:)?(\w+)\}/gu)].map((match) => match[1] as string).filter((word) => !OWN.has(word));
}

function fill(template: string, entity: Entity): string {
  const text = template.replace(/\{(?:(\w+):)?(\w+)\}/gu, (_whole, form: string | undefined, word: string) => {
    const value = entity.facts[word] ?? own(word, entity);
    if (form === 'the') return withArticle(value);
    if (form === 'a') return `${/^[aeiou]/iu.test(value) ? 'an' : 'a'} ${value}`;
    if (form === 'on') return `${/^\d{4}$/u.test(value) ? 'in' : 'on'} ${value}`;
    return value;
  });
  // A name that ends in a full stop ("Umberto D.", "Washington, D.C.") ends the sentence by itself.
  return text.replace(/\.\.$/u, '.');
}

function own(word: string, entity: Entity): string {
  const female = entity.pronoun === 'she';
  const subject = entity.pronoun;
  const possessive = { he: 'his', she: 'her', it: 'its' }[subject];
  switch (word) {
    case 'name':
      return entity.name;
    case 'Name':
      return capital(entity.kind === 'element' ? entity.name : mention(entity));
    case 'last':
      return surname(entity);
    case 'He':
      return capital(subject);
    case 'he':
      return subject;
    case 'His':
      return capital(possessive);
    case 'his':
      return possessive;
    case 'was':
      return entity.facts['died'] === undefined ? 'is' : 'was';
    case 'son':
      return female ? 'daughter' : 'son';
    case 'wife':
      return female ? 'husband' : 'wife';
    default:
      throw new Error(`built-in page ${JSON.stringify(entity.title)} has no fact ${JSON.stringify(word)}`);
  }
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function pick<T>(items: readonly T[], draw: Random): T {
  return items[draw.int(items.length)] as T;
}
