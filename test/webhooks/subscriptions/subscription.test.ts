// The rules of subscriptions.
import { describe, expect, it } from 'vitest';
import { parseNetworks } from '../../../src/platform/egress/address-rules.ts';
import {
  checkSecret,
  decideSink,
  MASK,
  maskHeaders,
  readFilters,
  readHeaders,
  readReceiverUrl,
} from '../../../src/webhooks/subscriptions/subscription.ts';

const invalid = (path: string) =>
  expect.objectContaining({ code: 'invalid_request', errors: [expect.objectContaining({ path })] });

describe('a sink', () => {
  it.each([
    [['org.created'], undefined, undefined, 'standard'],
    [['org.created'], 'security', undefined, 'security'],
    [['org.*'], undefined, undefined, 'audit'],
    [['*'], 'security', undefined, 'security'],
    [['org.*'], undefined, 'standard', 'audit'],
    [['org.*'], undefined, 'security', 'security'],
    [['org.created'], undefined, 'audit', 'audit'],
    [['org.created'], 'standard', 'audit', 'standard'],
  ] as const)('for %j, chosen %s, stored %s, is %s', (filters, chosen, stored, expected) => {
    expect(decideSink(filters, chosen, stored)).toBe(expected);
  });

  it('cannot be standard with a pattern', () => {
    expect(() => decideSink(['org.*'], 'standard')).toThrow(invalid('body.sink'));
    expect(() => decideSink(['*'], 'standard', 'audit')).toThrow(invalid('body.sink'));
  });
});

describe('event types', () => {
  it('are stored in one form, each once', () => {
    expect(readFilters(['**', '*', 'org.*', 'org.created', 'org.created'])).toEqual([
      '*',
      'org.*',
      'org.created',
    ]);
  });

  it.each(['org', 'Org.created', 'org.*.x', '*.created', 'org.', '', 'a.b.c.d.e.f', '***'])(
    '%j is none',
    (type) => {
      expect(() => readFilters(['org.created', type])).toThrow(invalid('body.event_types.1'));
    },
  );
});

describe('a secret of the caller', () => {
  it.each([
    ['too short', 'abcdefghijklmnopqrstuvwxyz12345'],
    ['one character', 'a'.repeat(64)],
    ['seven different bytes', 'abcdefg'.repeat(8)],
  ])('is refused when it is %s, without repeating it', (_title, secret) => {
    expect(() => checkSecret(secret)).toThrow(invalid('body.secret'));
    expect(() => checkSecret(secret)).not.toThrow(secret);
  });

  it.each(['abcdefghijklmnopqrstuvwxyz123456', 'abcdefgh'.repeat(4), 'éàüöäñçß'.repeat(2)])(
    '%s is taken',
    (secret) => {
      expect(() => checkSecret(secret)).not.toThrow();
    },
  );
});

describe('headers', () => {
  it('are hidden unless their name carries no credential, and masks sent back keep it', () => {
    const stored = readHeaders({ Prefer: 'a', Authorization: 'Bearer t', 'X-Api-Key': 'k' });
    const shown = maskHeaders(stored);
    expect(shown).toEqual({ prefer: 'a', authorization: MASK, 'x-api-key': MASK });
    expect(readHeaders({ ...shown, prefer: 'b' }, stored)).toEqual({ ...stored, prefer: 'b' });
  });

  it('refuse a mask that stands for nothing', () => {
    expect(() => readHeaders({ 'x-token': MASK })).toThrow(invalid('body.headers.x-token'));
    expect(() => readHeaders({ 'x-token': MASK }, { 'x-key': 'k' })).toThrow(invalid('body.headers.x-token'));
    expect(readHeaders({ prefer: MASK })).toEqual({ prefer: MASK });
  });

  it('name the refused one', () => {
    expect(() => readHeaders({ Host: 'x' })).toThrow(invalid('body.headers.Host'));
    expect(() => readHeaders({ 'X-Service-Event': 'x' })).toThrow(invalid('body.headers.X-Service-Event'));
  });
});

describe('a receiver URL', () => {
  it('is normalised, and its host named with the port', () => {
    expect(readReceiverUrl('https://Example.com:8443/a', [])).toEqual({
      url: 'https://example.com:8443/a',
      host: 'example.com:8443',
    });
  });

  it('is refused with the reason', () => {
    expect(() => readReceiverUrl('http://example.com/', [])).toThrow(invalid('body.url'));
    expect(() => readReceiverUrl('http://127.0.0.1/', [])).toThrow(invalid('body.url'));
    expect(readReceiverUrl('http://127.0.0.1:99/', parseNetworks(['127.0.0.0/8'])).host).toBe('127.0.0.1:99');
  });
});
