// Holds the rules for a subscription's own headers.
import { describe, expect, it } from 'vitest';
import { checkCustomHeaders } from '../../../src/platform/egress/header-rules.ts';

describe('checkCustomHeaders', () => {
  it('accepts headers that a gateway needs, with lowercase names', () => {
    const verdict = checkCustomHeaders({
      Authorization: 'Bearer abc',
      'X-Api-Key': 'a b\tc',
      'x-tenant': '1',
    });
    expect(verdict).toEqual({
      ok: true,
      headers: { authorization: 'Bearer abc', 'x-api-key': 'a b\tc', 'x-tenant': '1' },
    });
  });

  it.each([
    'Host',
    'connection',
    'Keep-Alive',
    'TE',
    'trailer',
    'Transfer-Encoding',
    'upgrade',
    'expect',
    'Content-Type',
    'content-length',
    'Content-Encoding',
    'proxy-authorization',
    'X-Service-Signature-256',
    'x-service-anything',
    'Webhook-Signature',
    'user-agent',
    'accept-encoding',
    'cookie',
    'x-forwarded-for',
    'via',
    'if-none-match',
    '',
    'bad name',
    'bad:name',
    'bäd',
    'x'.repeat(65),
    'x\r\nhost',
  ])('refuses the name %j', (name) => {
    expect(checkCustomHeaders({ [name]: 'value' })).toMatchObject({ ok: false, problems: [{ name }] });
  });

  it.each(['', ' a', 'a ', 'a\r\nb: c', 'a\nb', 'a\0b', 'ü', '\u007f', 'a'.repeat(2049)])(
    'refuses the value %j',
    (value) => {
      expect(checkCustomHeaders({ 'x-a': value }).ok).toBe(false);
    },
  );

  it('refuses a name that is there in two spellings', () => {
    expect(checkCustomHeaders({ 'X-A': '1', 'x-a': '2' })).toMatchObject({
      ok: false,
      problems: [{ name: 'x-a', message: 'is there twice' }],
    });
  });

  it('refuses too many headers, and too many bytes', () => {
    const many = (count: number, value: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, value]));
    expect(checkCustomHeaders(many(20, 'v')).ok).toBe(true);
    expect(checkCustomHeaders(many(21, 'v')).ok).toBe(false);
    expect(checkCustomHeaders(many(5, 'v'.repeat(2000))).ok).toBe(false);
  });
});
