import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverAddress, shownAddress } from '../../src/core/server-address.js';

test('an address that is refused is named without its password and its query', () => {
  const refused = (text: string, message: string): void =>
    assert.throws(() => serverAddress('--llm-url', text, 'http://localhost:8000'), {
      name: 'InputError',
      message: `--llm-url: ${message}`,
    });
  const password = 'got an address with a password in it, expected the key in the environment';
  refused('http://me:secretsecret@host/v1', password);
  refused('htp://me:secretsecret@host/v1', password);
  refused('htp:me:secretsecret@host/v1', 'got "…@host/v1", expected http or https');
  refused('me:secret?secret@host/v1', 'got "…@host/v1", expected http or https');
  refused('//me:secretsecret@host/v1?key=1', 'got "…@host/v1", expected an address such as http://localhost:8000');
  refused('ftp://host/v1?api_key=SECRET#x', 'got "ftp://host/v1", expected http or https');
});

test('a shown address keeps its place and loses its query', () => {
  assert.equal(shownAddress('http://host:8000/retrieve?api_key=SECRET'), 'http://host:8000/retrieve');
  assert.equal(serverAddress('--x', 'https://host/a?b=c', '').search, '?b=c');
});
