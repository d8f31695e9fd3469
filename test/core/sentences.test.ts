import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitSentences } from '../../src/core/sentences.js';

/** Hard places, written for this test; ` | ` stands where a reader of English ends a sentence. */
const golden = [
  'The U.S. Senate met. | It voted.',
  'He moved to the U.S. in 1910. | He stayed.',
  'She lives in the U.S. | Her brother does not.',
  'The U.K. government fell. | An election followed.',
  'Washington, D.C. is a city. | It lies on a river.',
  'He was born in St. Louis. | His father was a smith.',
  'Dr. Lee met Mr. Orr. | They talked.',
  'Mrs. Hall and Ms. Grant won. | Prof. Reed lost.',
  'J. R. R. Hale wrote it. | It sold well.',
  'J.R.R. Hale wrote it. | It sold well.',
  'George W. Pike was mayor. | He died in 1901.',
  'Samuel L. Dorn Jr. was an actor. | He sang as well.',
  'Martin Orr, Jr. led the march. | It rained.',
  'Henry Vane Sr. built it. | His son sold it.',
  'Acme Inc. was sold. | Its name went.',
  'The Mill Co. closed. | The Dam Ltd. opened.',
  'Brown Bros. of Leeds made it. | It broke.',
  'Smith Corp. bought it in May. | It paid much.',
  'Gen. Orr and Col. Pike fought. | Capt. Reed fled.',
  'Lt. Col. Hale led them. | They won.',
  'Sgt. Moss was hurt. | He lived.',
  'Sen. Grant spoke. | Rep. Dorn did not.',
  'Gov. Reed signed it. | It became law.',
  'Rev. Hale preached. | The hall was full.',
  'The vessel was built c. 1850. | It sank.',
  'He reigned ca. 900. | Little is known.',
  'It measures approx. 4 km. | It is deep.',
  'It costs about 3.5 million. | It was cheap.',
  'The rate was 4.25 percent. | It fell to 3.1 percent.',
  'It weighs 3.5 kg. | It is red.',
  'See vol. 3 for more. | It is long.',
  'It is in ch. 4, p. 12. | Read it.',
  'No. 5 was the best. | No. 6 was not.',
  'Symphony No. 9 is by him. | It is long.',
  'Opus 5, no. 2 is short. | It is sad.',
  'It opened at 5 p.m. on Friday. | It closed late.',
  'It opens at 9 a.m. daily. | It is free.',
  'It opened at 5 p.m. | It closed late.',
  'Fruits, e.g. apples, grow here. | They are sweet.',
  'The capital, i.e. Velm, is old. | It is small.',
  'Apples, pears, etc. grow here. | They are sweet.',
  'Reed et al. found it. | It was new.',
  'Orr vs. Pike was heard. | Pike won.',
  'Roe v. Hale was a case. | It was long.',
  'He lives on Main St. in Velm. | It is quiet.',
  'It stands on 5th Ave. near the park. | It is tall.',
  'Mt. Ember is high. | It is cold.',
  'Ft. Orr was burnt. | It was rebuilt.',
  'He was born on Jan. 5, 1900. | He died in Feb. 1950.',
  'It began in Sept. 1939. | It ended in Aug. 1945.',
  'It lasted from 44 B.C. to 14 A.D. and ended. | Peace came.',
  'She has a Ph.D. in physics. | She teaches.',
  'He has an M.D. from Velm. | He heals.',
  'He holds a B.A. and an M.A. from there. | He is old.',
  'Is it true? | Yes.',
  'Stop! | He stopped.',
  '"Go." | He went.',
  'He said "Go!" and went. | She stayed.',
  'What is it... | Nobody knows.',
  'Yahoo! is a firm. | It is old.',
  'The band Wham! was known. | It broke up.',
  'He visited example.com daily. | It was fun.',
  'Version 2.0.1 is out. | It is good.',
  'The file is named a.txt here. | Open it.',
  'It has 1,000.5 points. | It won.',
  'He wrote "The End." | It sold well.',
  'It closed (in 1990). | It opened again.',
  'The film (dir. Orr) won. | It was short.',
  'Robert E. Lee Jr. High School closed. | It was old.',
  'The F.C. Velm side won. | It rained.',
];

/** Those that the splitter gets wrong, by their position above. A change here changes every MuSiQue number: it comes with a new version. */
const FAILS: readonly number[] = [15, 25, 26, 30, 31, 59, 60, 65, 67];

test('P18: the splitter on 70 abbreviations and other hard places: what it gets wrong is known, case by case', () => {
  const fails = golden.flatMap((one, at) => (splitSentences(one.replaceAll(' | ', ' ')).join(' | ') === one ? [] : [at]));
  assert.equal(golden.length, 70);
  assert.deepEqual(fails, FAILS);
  // Measured: 61 of 70 right, 0.871.
  assert.ok(1 - fails.length / golden.length >= 0.87);
});

test('sentences are trimmed and never empty', () => {
  assert.deepEqual(splitSentences('  It is one river.   It is two rivers. '), ['It is one river.', 'It is two rivers.']);
  assert.deepEqual(splitSentences(' \n '), []);
});
