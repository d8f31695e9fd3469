import { InputError, shown } from './errors.js';

/**
 * The address of a server as a flag gives it, http or https, without a user or password in it.
 *
 * @param example of such an address, for the message
 * @throws InputError that names the flag and shows nothing secret
 */
export function serverAddress(flag: string, text: string, example: string): URL {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  if (parsed !== undefined && (parsed.username !== '' || parsed.password !== ''))
    throw new InputError(`${flag}: got an address with a password in it, expected the key in the environment`);
  if (parsed === undefined) throw new InputError(`${flag}: got ${shown(shownAddress(text))}, expected an address such as ${example}`);
  if (!/^https?:$/.test(parsed.protocol)) throw new InputError(`${flag}: got ${shown(shownAddress(text))}, expected http or https`);
  return parsed;
}

/** An address, or what was given for one, as messages have it: without user and password, query and fragment, where keys stand. */
export function shownAddress(text: string): string {
  return text.replace(/^.*@/s, '…@').replace(/[?#].*$/s, '');
}
