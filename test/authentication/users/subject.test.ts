// Users as foreign issuers name them, and their UUIDs.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isIssuer, isSub, subjectId } from '../../../src/authentication/users/subject.ts';

const tenant = '0192f0c1-2345-7000-8000-000000000001';
const otherTenant = '0192f0c1-2345-7000-8000-000000000002';
const ada = { issuer: 'https://idp.example', sub: 'ada' };

describe('the UUID of a user', () => {
  it('is the same for ever', () => {
    // printf '\x01\x92\xf0\xc1\x23\x45\x70\x00\x80\x00\x00\x00\x00\x00\x00\x01["https://idp.example","ada"]' |
    // sha256sum
    expect(subjectId(tenant, ada)).toBe('d046f727-6225-8a99-9656-93b32b9e70d6');
  });

  it('is a UUID of version 8, which no row has', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (issuer, sub) => {
        expect(subjectId(tenant, { issuer, sub })).toMatch(
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
      }),
    );
  });

  it('differs between tenants, issuers and subs, wherever the border between the two lies', () => {
    const ids = [
      subjectId(tenant, ada),
      subjectId(otherTenant, ada),
      subjectId(tenant, { issuer: 'https://idp.example', sub: 'eve' }),
      subjectId(tenant, { issuer: 'https://idp.examplea', sub: 'da' }),
      subjectId(tenant, { issuer: 'https://idp.example","ada', sub: '' }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

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
