// Users as foreign issuers name them.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isIssuer, isSub } from '../../../src/authentication/users/subject.ts';

it.each([
  ['https://idp.example', true],
  ['https://idp.example/realms/one', true],
  ['https://idp.example:8443/', true],
  ['http://idp.example', false],
  ['https://idp.example?a=b', false],
  ['https://idp.example/?', false],
  ['https://idp.example#x', false],
  ['https://user:word@idp.example', false],
  ['https://', false],
  ['https://idp.example/a b', false],
  ['https://idp.example\\x', false],
  [' https://idp.example', false],
  ['https://idp.example/\u0000', false],
  ['urn:idp', false],
  [`https://idp.example/${'x'.repeat(500)}`, false],
])('%j is an issuer: %s', (text, expected) => {
  expect(isIssuer(text)).toBe(expected);
});

it.each([
  ['ada', true],
  ['ada@example.org|1', true],
  ['ä', true],
  ['', false],
  ['a\u0000', false],
  ['a\n', false],
  ['\ud800', false],
  ['x'.repeat(256), false],
  [7, false],
  [undefined, false],
])('%j is a sub: %s', (value, expected) => {
  expect(isSub(value)).toBe(expected);
});

it('an issuer is an https URL without query and fragment, whatever the text', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.string()),
      (text) => {
        if (!isIssuer(text)) return;
        const { protocol, search, hash } = new URL(text);
        expect([protocol, search, hash]).toEqual(['https:', '', '']);
      },
    ),
  );
});
