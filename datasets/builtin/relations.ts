import type { Entity } from './knowledge.js';
import { mention } from './pages.js';

/** How a relation is asked for; `{s}` is the subject. */
export interface RelationWording {
  /** Whole questions. */
  asks: readonly string[];
  /** Noun phrases that stand for the value inside a longer question; none where the value is never a step on the way. */
  phrases: readonly string[];
  /** Further noun phrases, good only around a plain name: nested they would pile up verbs ("where the city where … is located is located"). */
  plainPhrases?: readonly string[];
  /** What a search box gets. */
  keywords: string;
  /** The name of the relation in 2Wiki's evidences and MuSiQue's `subject >> relation` steps. */
  label: string;
}

export const relations = {
  discoverer: {
    asks: ['Who discovered {s}?', 'Which scientist is credited with the discovery of {s}?'],
    phrases: ['the discoverer of {s}', 'the scientist who discovered {s}', 'the chemist credited with the discovery of {s}'],
    keywords: 'discovery of {s}',
    label: 'discoverer or inventor',
  },
  university: {
    asks: ['Where did {s} study?', 'Which university did {s} attend?'],
    phrases: ['the alma mater of {s}'],
    plainPhrases: ['the university where {s} studied', 'the university that {s} attended'],
    keywords: '{s} education',
    label: 'educated at',
  },
  city: {
    asks: ['In which city is {s}?', 'Which city is home to {s}?'],
    phrases: ['the city that is home to {s}', 'the home city of {s}'],
    plainPhrases: ['the city where {s} is located'],
    keywords: '{s} location',
    label: 'located in the administrative territorial entity',
  },
  founded: {
    asks: ['When was {s} founded?', 'In which year was {s} founded?'],
    phrases: [],
    keywords: '{s} founded',
    label: 'inception',
  },
  birthplace: {
    asks: ['Where was {s} born?', 'Which town or city was {s} born in?'],
    phrases: ['the birthplace of {s}'],
    plainPhrases: ['the place where {s} was born'],
    keywords: '{s} born in',
    label: 'place of birth',
  },
  deathplace: {
    asks: ['Where did {s} die?', 'In which town or city was it that {s} died?'],
    phrases: ['the place of death of {s}'],
    plainPhrases: ['the place where {s} died'],
    keywords: '{s} died in',
    label: 'place of death',
  },
  born: {
    asks: ['When was {s} born?', 'On what date was {s} born?'],
    phrases: [],
    keywords: '{s} born',
    label: 'date of birth',
  },
  died: {
    asks: ['When did {s} die?', 'What is the date on which {s} died?'],
    phrases: [],
    keywords: '{s} died',
    label: 'date of death',
  },
  nationality: {
    asks: ['What is the nationality of {s}?', 'What nationality is {s}?'],
    phrases: [],
    keywords: '{s} nationality',
    label: 'country of citizenship',
  },
  spouse: {
    asks: ['Who was the spouse of {s}?', 'To whom was {s} married?'],
    phrases: ['the spouse of {s}'],
    keywords: '{s} married',
    label: 'spouse',
  },
  father: {
    asks: ['Who was the father of {s}?', 'What was the name of the father of {s}?'],
    phrases: ['the father of {s}'],
    keywords: '{s} father',
    label: 'father',
  },
  mother: {
    asks: ['Who was the mother of {s}?', 'What was the name of the mother of {s}?'],
    phrases: ['the mother of {s}'],
    keywords: '{s} mother',
    label: 'mother',
  },
  river: {
    asks: ['Which river flows through {s}?', 'On which river does {s} stand?'],
    phrases: ['the river that flows through {s}'],
    plainPhrases: ['the river on which {s} stands'],
    keywords: '{s} river',
    label: 'located in or next to body of water',
  },
  mouth: {
    asks: ['Into which body of water does {s} flow?', 'What does {s} flow into?'],
    phrases: [],
    keywords: '{s} mouth',
    label: 'mouth of the watercourse',
  },
  km: {
    asks: ['How long is {s}?', 'What is the length of {s}?'],
    phrases: [],
    keywords: '{s} length in kilometres',
    label: 'length',
  },
  country: {
    asks: ['In which country is {s}?', 'Which country does {s} belong to?'],
    phrases: ['the country that includes {s}', 'the country of {s}'],
    plainPhrases: ['the country where {s} is located'],
    keywords: '{s} country',
    label: 'country',
  },
  capital: {
    asks: ['What is the capital of {s}?', 'Which city is the capital of {s}?'],
    phrases: [],
    keywords: 'capital of {s}',
    label: 'capital',
  },
  currency: {
    asks: ['What is the currency of {s}?', 'Which currency is used in {s}?'],
    phrases: [],
    keywords: '{s} currency',
    label: 'currency',
  },
  highest: {
    asks: ['What is the highest mountain of {s}?', 'Which mountain is the highest in {s}?'],
    phrases: [],
    keywords: 'highest mountain {s}',
    label: 'highest point',
  },
  number: {
    asks: ['What is the atomic number of {s}?', 'Which atomic number does {s} have?'],
    phrases: [],
    keywords: '{s} atomic number',
    label: 'atomic number',
  },
  director: {
    asks: ['Who directed {s}?', 'Who is the director of {s}?'],
    phrases: ['the director of film {s}', 'the director of the film {s}'],
    keywords: '{s} director',
    label: 'director',
  },
  author: {
    asks: ['Who wrote {s}?', 'Who is the author of {s}?'],
    phrases: ['the author of the novel {s}', 'the author of {s}'],
    keywords: '{s} author',
    label: 'author',
  },
  year: {
    asks: ['When did {s} come out?', 'In which year did {s} appear?'],
    phrases: [],
    keywords: '{s} year',
    label: 'publication date',
  },
  composer: {
    asks: ['Who composed {s}?', 'Who wrote the music of {s}?'],
    phrases: ['the composer of {s}', 'the person who composed {s}'],
    keywords: '{s} composer',
    label: 'composer',
  },
  painter: {
    asks: ['Who painted {s}?', 'Which artist painted {s}?'],
    phrases: ['the painter of {s}', 'the artist who painted {s}'],
    keywords: '{s} painter',
    label: 'creator',
  },
  museum: {
    asks: ['In which museum is {s}?', 'Where is {s} kept?'],
    phrases: ['the museum that keeps {s}', 'the museum that houses {s}'],
    plainPhrases: ['the museum where {s} can be seen'],
    keywords: '{s} museum',
    label: 'collection',
  },
  architect: {
    asks: ['Who designed {s}?', 'Who was the architect of {s}?'],
    phrases: ['the architect of {s}', 'the person who designed {s}'],
    keywords: '{s} architect',
    label: 'architect',
  },
} as const satisfies Record<string, RelationWording>;

export type Relation = keyof typeof relations;

/** A wording with its subject put in: an entity as it is mentioned inside a sentence, or any other text as it stands. */
export function put(template: string, subject: Entity | string): string {
  return template.replace('{s}', typeof subject === 'string' ? subject : mention(subject));
}
