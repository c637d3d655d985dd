// The rules of the console's cookie without a service.
import { expect, it } from 'vitest';
import { isOwnRequest, readCookie, writeCookie } from '../../../src/authentication/console/session.ts';

it('is a cookie of the tenant only, and over https also secure', () => {
  expect(writeCookie('https://id.example', 'abc')).toBe(
    '__Secure-countersign-console=abc; Path=/console; HttpOnly; SameSite=Strict; Secure',
  );
  expect(writeCookie('http://localhost:8080/t/acme', undefined)).toBe(
    'countersign-console=; Path=/t/acme/console; HttpOnly; SameSite=Strict; Max-Age=0',
  );
});

it('is read under its own name only', () => {
  const base = 'https://id.example';
  expect(readCookie(base, 'a=b; __Secure-countersign-console=abc')).toBe('abc');
  expect(readCookie(base, 'countersign-console=abc')).toBeUndefined();
  expect(readCookie(base, 'x__Secure-countersign-console=abc')).toBeUndefined();
  expect(
    readCookie(base, '__Secure-countersign-console=abc; __Secure-countersign-console=def'),
  ).toBeUndefined();
  expect(readCookie(base, undefined)).toBeUndefined();
});

it('takes requests of its own page, and of programs that are no browser', () => {
  const base = 'https://id.example/t/acme';
  expect(isOwnRequest(base, { origin: undefined, site: undefined })).toBe(true);
  expect(isOwnRequest(base, { origin: 'https://id.example', site: 'same-origin' })).toBe(true);
  expect(isOwnRequest(base, { origin: 'https://id.example:444', site: undefined })).toBe(false);
  expect(isOwnRequest(base, { origin: 'https://id.example', site: 'none' })).toBe(false);
});
