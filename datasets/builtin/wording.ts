import type { Kind } from './knowledge.js';

/**
 * How pages say things. A mark in braces names a fact: `{river}`; `{the:river}` puts "the" before names that take it, `{a:genre}` "a" or
 * "an", `{on:born}` "on" before a day and "in" before a year. `{name}`, `{Name}` (with its article, as a sentence begins), `{last}`
 * (the surname), `{He}`, `{his}`, `{was}`, `{son}` and the like are filled from the entity itself.
 */
export interface Wording {
  /** First sentences, best group first: one is drawn from the first group that has a usable one. */
  leads: readonly (readonly string[])[];
  /** Later sentences: one of each group is drawn where the group still has a fact that the page has not stated. */
  groups: readonly (readonly string[])[];
}

const person: Wording = {
  leads: [
    [
      '{name} ({born} – {died}) {was} {a:nationality} {occupation}.',
      '{name} ({born} – {died}) {was} {a:nationality} {occupation} born in {birthplace}.',
      '{name} (born {born} in {birthplace}, died {died} in {deathplace}) {was} {a:nationality} {occupation}.',
      '{name} {was} {a:nationality} {occupation}.',
      '{name} {was} {a:nationality} {occupation} who was born in {birthplace}.',
    ],
    ['{name} {was} {a:occupation}.'],
  ],
  groups: [
    [
      '{He} was born in {birthplace} {on:born}.',
      '{last} was born {on:born} in {birthplace}.',
      '{He} was born in {birthplace}.',
      '{birthplace} is where {he} was born.',
      '{last} {was} a native of {birthplace}.',
    ],
    ['{He} was born {on:born}.', '{last} was born {on:born}.'],
    ['{His} father was {father}.', '{He} was a {son} of {father}.', '{last} was the {son} of {father}.'],
    ['{He} studied at {the:university}.', '{last} was a student at {the:university}.', '{He} was educated at {the:university}.'],
    ['{He} married {spouse}.', '{His} {wife} was {spouse}.', '{last} married {spouse}.'],
    [
      '{He} died in {deathplace} {on:died}.',
      '{last} died {on:died} in {deathplace}.',
      '{He} died in {deathplace}.',
      '{last} died in {deathplace}.',
      '{His} life ended in {deathplace}.',
    ],
    ['{He} died {on:died}.', '{last} died {on:died}.'],
  ],
};

export const wording: Readonly<Record<Kind, Wording>> = {
  country: {
    leads: [
      ['{Name} is a country in {continent}.', '{Name} is a country in {continent} whose capital is {capital}.'],
      ['{Name} is a country.', '{Name} is a country whose capital is {capital}.'],
    ],
    groups: [
      ['Its capital is {capital}.', '{capital} is its capital.', 'The capital of the country is {capital}.'],
      ['Its currency is the {currency}.', 'People there pay with the {currency}.', '{Name} uses the {currency} as its currency.'],
      ['Its highest peak is {highest}.', '{highest} is its highest mountain.', 'No mountain of the country is higher than {highest}.'],
      ['Its main language is {language}.', '{language} is the language of most of its people.'],
    ],
  },
  city: {
    leads: [
      [
        '{name} is a city in {the:country}.',
        '{name} is a city in {the:country}, on the {river}.',
        '{name} is a city on the {river}.',
        '{name} is a well-known city of {the:country}.',
      ],
    ],
    groups: [
      ['It lies in {the:country}.', 'It belongs to {the:country}.'],
      ['It stands on the {river}.', 'It lies on the {river}.', 'The {river} flows through it.', 'The {river} runs through the city.'],
    ],
  },
  river: {
    leads: [
      [
        '{Name} is a river that flows into {the:mouth}.',
        '{Name} is a river about {km} kilometres long.',
        '{Name} is a river that rises {source}.',
      ],
      ['{Name} is a river.'],
    ],
    groups: [
      ['It rises {source}.', 'Its source lies {source}.', 'It begins {source}.'],
      ['It flows into {the:mouth}.', 'It empties into {the:mouth}.', 'It ends in {the:mouth}.'],
      ['It is about {km} kilometres long.', 'Its length is about {km} kilometres.', 'It has a length of roughly {km} kilometres.'],
    ],
  },
  university: {
    leads: [
      [
        '{Name} is a university in {city}.',
        '{Name} is a university that was founded in {founded}.',
        '{Name} is a university in {city} that was founded in {founded}.',
        '{Name} is a well-known university.',
      ],
    ],
    groups: [
      ['It is located in {city}.', 'Its home is the city of {city}.', 'Students come to {city} to attend it.'],
      ['It was founded in {founded}.', 'It has existed since {founded}.', 'Its foundation dates from {founded}.'],
    ],
  },
  element: {
    leads: [
      [
        '{name} is a chemical element with the symbol {symbol}.',
        '{name} is a chemical element with the symbol {symbol} and the atomic number {number}.',
        '{name} is a chemical element.',
      ],
    ],
    groups: [
      [
        'It was discovered by {discoverer} in {year}.',
        '{discoverer} discovered it in {year}.',
        'Its discovery in {year} is credited to {discoverer}.',
        'In {year} {discoverer} discovered it.',
      ],
      ['It was discovered by {discoverer}.', 'Its discovery is credited to {discoverer}.'],
      ['Its symbol is {symbol}.'],
      ['Its atomic number is {number}.', 'It has the atomic number {number}.'],
    ],
  },
  scientist: person,
  director: person,
  writer: person,
  composer: person,
  painter: person,
  architect: person,
  royal: {
    leads: [['{name} ({born} – {died}) was {office}.', '{name} was {office}.'], ['{name} was {office}.']],
    groups: [
      [
        '{He} was the {son} of {father} and {mother}.',
        '{His} parents were {father} and {mother}.',
        '{His} father was {father}.',
        '{He} was a {son} of {father}.',
      ],
      ['{His} mother was {mother}.', '{mother} was {his} mother.'],
      ['{He} was born {on:born}.'],
      ['{He} was married to {spouse}.', '{His} {wife} was {spouse}.', '{He} married {spouse}.'],
      ['{He} died {on:died}.'],
    ],
  },
  film: {
    leads: [
      [
        '{name} is {a:year} {genre} film directed by {director}.',
        '{name} is {a:genre} film from {year}.',
        '{name} is {a:genre} film by {director}.',
        '{name} is {a:genre} film that was released in {year}.',
        '{name} is {a:genre} film.',
      ],
    ],
    groups: [
      ['It was directed by {director}.', '{director} directed it.', 'Its director was {director}.', 'The film was made by {director}.'],
      ['It stars {star}.', '{star} plays in it.', '{star} is among its actors.'],
      ['It was released in {year}.', 'It came out in {year}.'],
    ],
  },
  novel: {
    leads: [
      [
        '{name} is {a:genre} novel by {author}.',
        '{name} is {a:genre} novel by {author} that was published in {year}.',
        '{name} is {a:genre} novel that was published in {year}.',
        '{name} is {a:genre} novel.',
      ],
    ],
    groups: [
      ['It was written by {author}.', '{author} wrote it.', 'Its author was {author}.', 'The book is the work of {author}.'],
      ['It was published in {year}.', 'It appeared in {year}.'],
    ],
  },
  composition: {
    leads: [['{name} is {a:type} by {composer}.', '{name} is {a:type}.', '{name} is a well-known {type}.']],
    groups: [
      ['It was composed by {composer}.', '{composer} composed it.', 'Its music is by {composer}.', 'It is a work of {composer}.'],
      ['It was first presented to the public in {year}.', 'The public first heard it in {year}.'],
    ],
  },
  painting: {
    leads: [['{name} is a painting by {painter}.', '{name} is a painting in {the:museum}.', '{name} is a well-known painting.']],
    groups: [
      ['It was painted by {painter}.', '{painter} painted it.', 'It is the work of {painter}.'],
      ['It hangs in {the:museum}.', 'It is kept in {the:museum}.', 'It can be seen in {the:museum}.'],
    ],
  },
  museum: {
    leads: [['{Name} is a museum in {city}.', '{Name} is a museum.', '{Name} is a well-known museum.']],
    groups: [['It is in {city}.', 'It stands in {city}.', 'Its home is {city}.']],
  },
  landmark: {
    leads: [['{Name} is {a:type} in {city}.', '{Name} is {a:type} that was designed by {architect}.', '{Name} is a well-known {type}.']],
    groups: [
      ['It stands in {city}.', 'It is in {city}.', 'It is a landmark of {city}.'],
      ['It was designed by {architect}.', '{architect} designed it.'],
    ],
  },
};
