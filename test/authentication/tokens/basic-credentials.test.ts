// What HTTP Basic credentials are read, and which headers are refused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBasicCredentials } from '../../../src/authentication/tokens/basic-credentials.ts';
import { basic } from './accounts.ts';

const encode = (text: string | Uint8Array) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('HTTP Basic client credentials', () => {
  it.each([
    [
      'the example of RFC 6749 §2.3.1',
      'Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3',
      's6BhdRkqt3',
      '7Fjfp0ZBr1KtDRbnfVdmIw',
    ],
    ['a scheme in another case', encode('a:b').replace('Basic', 'bAsIc'), 'a', 'b'],
    ['several spaces after the scheme', encode('a:b').replace(' ', '   '), 'a', 'b'],
    ['a colon in the secret', encode('a:b:c:'), 'a', 'b:c:'],
    ['an escaped colon in the id', encode('a%3Ab:c'), 'a:b', 'c'],
    ['a plus sign as a space', encode('a+b:c+d'), 'a b', 'c d'],
    ['an escaped plus sign', encode('a:c%2Bd'), 'a', 'c+d'],
    ['an escaped percent sign', encode('a:%25'), 'a', '%'],
    ['UTF-8 escapes', encode('%C3%A4:%E2%82%AC'), 'ä', '€'],
    ['UTF-8 bytes', encode('ä:€'), 'ä', '€'],
    ['empty parts', encode(':'), '', ''],
    ['base64 without padding', encode('a:bc').replace(/=+$/, ''), 'a', 'bc'],
  ])('reads %s', (_name, header, clientId, clientSecret) => {
    expect(parseBasicCredentials(header)).toEqual({ clientId, clientSecret });
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', 'Bearer YTpi'],
    ['a scheme that begins alike', 'Basically YTpi'],
  ])('finds no credentials in %s', (_name, header) => {
    expect(parseBasicCredentials(header)).toBe('absent');
  });

  it.each([
    ['no base64 at all', 'Basic'],
    ['a foreign character', 'Basic YTpi!'],
    ['white space inside', 'Basic YT pi'],
    ['wrong padding', 'Basic YTpi='],
    ['no colon', encode('abc')],
    ['only an escaped colon', encode('a%3Ab')],
    ['a percent sign alone', encode('a:100%')],
    ['a percent sign before no hex', encode('a:%zz')],
    ['an escape that is not UTF-8', encode('a:%ff')],
    ['bytes that are not UTF-8', encode(Uint8Array.of(0x61, 0x3a, 0xff))],
  ])('refuses %s', (_name, header) => {
    expect(parseBasicCredentials(header)).toBe('malformed');
  });

  it('gives back any id and secret that a client form-encodes', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(text, text, (clientId, clientSecret) => {
        expect(parseBasicCredentials(basic(clientId, clientSecret))).toEqual({ clientId, clientSecret });
      }),
    );
  });

  it('never throws, whatever the header is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uint8Array(), (text, bytes) => {
        for (const header of [text, `Basic ${text}`, encode(bytes)]) {
          expect(['absent', 'malformed', 'object']).toContain(
            typeof parseBasicCredentials(header) === 'object' ? 'object' : parseBasicCredentials(header),
          );
        }
      }),
    );
  });
});
