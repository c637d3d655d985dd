import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeTarget } from '../../../packages/resource-server/src/proof-target.ts';

describe('the address of a request in one form', () => {
  it.each([
    ['HTTPS://Example.COM/a', 'https://example.com/a', 'case of scheme and host'],
    ['https://example.com:443/a', 'https://example.com/a', 'default port of https'],
    ['http://example.com:80/a', 'http://example.com/a', 'default port of http'],
    ['https://example.com:/a', 'https://example.com/a', 'empty port'],
    ['https://example.com:8443/a', 'https://example.com:8443/a', 'another port stays'],
    ['https://example.com:80/a', 'https://example.com:80/a', 'the other default stays'],
    ['https://example.com', 'https://example.com/', 'empty path'],
    ['https://example.com?q=1', 'https://example.com/', 'query without a path'],
    ['https://example.com/a/./b/../c', 'https://example.com/a/c', 'dot segments'],
    ['https://example.com/a/%2E%2e/c', 'https://example.com/c', 'encoded dot segments'],
    ['https://example.com/../../a', 'https://example.com/a', 'dot segments above the root'],
    ['https://example.com/%7euser/%41', 'https://example.com/~user/A', 'encoded unreserved characters'],
    ['https://example.com/a%2fb%c3%a9', 'https://example.com/a%2Fb%C3%A9', 'case of encodings'],
    ['https://example.com/%252e%252e/a', 'https://example.com/%252e%252e/a', 'an encoded percent sign, once'],
    ['https://example.com/a?b=c#d', 'https://example.com/a', 'query and fragment'],
    ['https://example.com/a#x?y', 'https://example.com/a', 'a question mark in the fragment'],
    ['https://[2001:DB8::1]:443/a', 'https://[2001:db8::1]/a', 'an IPv6 literal'],
    [
      'http://localhost:3000/t/acme/oauth/token',
      'http://localhost:3000/t/acme/oauth/token',
      'a tenant in the path',
    ],
  ])('%s is %s: %s', (uri, normal) => {
    expect(normalizeTarget(uri)).toBe(normal);
  });

  it.each([
    ['/oauth/token', 'relative'],
    ['//example.com/a', 'without a scheme'],
    ['ftp://example.com/a', 'another scheme'],
    ['https:/example.com/a', 'one slash'],
    ['https:example.com', 'no slash'],
    ['https:///a', 'no authority'],
    ['https://user@example.com/a', 'user information'],
    ['https://example.com@evil.example/a', 'user information that looks like a host'],
    ['https:\\\\example.com\\a', 'backslashes'],
    ['https://example.com\\a', 'a backslash'],
    [' https://example.com/a', 'white space before'],
    ['https://example.com/a\n', 'a line feed'],
    ['https://exa\tmple.com/a', 'a tab, which URL parsers drop'],
    ['https://example.com/é', 'not ASCII'],
    ['https://example.com/%zz', 'a malformed encoding'],
    ['https://example.com/%4', 'an encoding cut short'],
    ['https://%65xample.com/a', 'an encoded host'],
    ['https://example.com%60/a', 'an encoding that a host cannot have'],
    ['https://example.com:99999/a', 'an impossible port'],
    ['', 'nothing'],
  ])('%j is no address: %s', (uri) => {
    expect(normalizeTarget(uri)).toBeNull();
  });

  const segment = fc.stringMatching(/^[a-z0-9_~-]{1,8}$/);
  const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`);
  const host = fc.stringMatching(/^[a-z]{1,6}\.example$/);

  /** Another spelling of the same address. */
  const spelled = fc
    .tuple(fc.constantFrom('http', 'https'), host, path, fc.infiniteStream(fc.boolean()))
    .map(([scheme, name, plain, coin]) => {
      const flip = () => coin.next().value;
      const recase = (text: string) => [...text].map((c) => (flip() ? c.toUpperCase() : c)).join('');
      const encode = (text: string) =>
        [...text]
          .map((c) => (c === '/' || flip() ? c : recase(`%${c.charCodeAt(0).toString(16).padStart(2, '0')}`)))
          .join('');
      const port = flip() ? '' : scheme === 'http' ? ':80' : ':443';
      const detour = flip() ? '' : flip() ? '/x/..' : '/.';
      const rest = (flip() ? '' : '?a=/../b') + (flip() ? '' : '#c');
      return {
        uri: `${recase(scheme)}://${recase(name)}${port}${detour}${encode(plain)}${rest}`,
        normal: `${scheme}://${name}${plain}`,
      };
    });

  it('brings every spelling of an address into the same form', () => {
    fc.assert(
      fc.property(spelled, ({ uri, normal }) => {
        expect(normalizeTarget(uri)).toBe(normal);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps different addresses different', () => {
    fc.assert(
      fc.property(host, path, host, path, (a, b, c, d) => {
        fc.pre(a !== c || b !== d);
        expect(normalizeTarget(`https://${a}${b}`)).not.toBe(normalizeTarget(`https://${c}${d}`));
      }),
    );
  });

  it('changes nothing the second time, whatever it is given', () => {
    const anything = fc.oneof(
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.string(),
      fc.stringMatching(/^https?:\/\/[!-~]{0,30}$/),
    );
    fc.assert(
      fc.property(anything, (uri) => {
        const normal = normalizeTarget(uri);
        if (normal !== null) expect(normalizeTarget(normal)).toBe(normal);
      }),
      { numRuns: 2000 },
    );
  });
});
