// Holds the canonical string and the headers of a delivery to the specification, with vectors made by hand.
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalString } from '../../../packages/receiver/src/canonical-string.ts';
import { deliveryHeaders } from '../../../packages/receiver/src/delivery-headers.ts';
import { findSuite, parseSignature } from '../../../packages/receiver/src/suites.ts';
import { signDelivery } from '../../../src/webhooks/signing/delivery-signature.node.ts';

const values = {
  suite: 'service-webhook-v1',
  timestamp: '1700000000',
  maxAge: '300',
  deliveryId: 'd-1',
  eventType: 'auth.login.success',
};

describe('canonicalString', () => {
  it('joins six values by line feeds, the payload last and as it is', () => {
    const payload = Buffer.from([0x7b, 0x0a, 0x00, 0xff, 0x7d]);
    const head = Buffer.from('service-webhook-v1\n1700000000\n300\nd-1\nauth.login.success\n');
    expect(Buffer.from(canonicalString(values, payload))).toEqual(Buffer.concat([head, payload]));
  });

  it('has one value of each kind: different inputs never sign the same bytes', () => {
    const line = fc.stringMatching(/^[\x21-\x7e]{1,6}$/);
    const input = fc.tuple(line, line, line, line, line, fc.uint8Array({ maxLength: 6 }));
    const bytesOf = ([suite, timestamp, maxAge, deliveryId, eventType, payload]: [
      ...[string, string, string, string, string],
      Uint8Array,
    ]) =>
      Buffer.from(canonicalString({ suite, timestamp, maxAge, deliveryId, eventType }, payload)).toString(
        'hex',
      );
    fc.assert(
      fc.property(input, input, (one, other) => {
        expect(bytesOf(one) === bytesOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});

describe('signDelivery', () => {
  const body = new TextEncoder().encode('{"a":1}');
  const input = {
    timestamp: 1_700_000_000,
    maxAge: 300,
    deliveryId: 'd-1',
    eventType: 'auth.login.success',
    body,
  };

  it('gives the headers of the specification', () => {
    // printf 'service-webhook-v1\n1700000000\n300\nd-1\nauth.login.success\n{"a":1}' | openssl dgst -sha256 -hmac
    // <secret>
    expect(signDelivery({ ...input, secrets: { current: 'an-example-secret-of-32-bytes-len' } })).toEqual({
      'X-Service-Signature-Suite': 'service-webhook-v1',
      'X-Service-Signature-256': 'sha256=1faf5204821412324052c417377dd7e57bc425febee89a5f45771389f40166b5',
      'X-Service-Signature-Max-Age': '300',
      'X-Service-Timestamp': '1700000000',
      'X-Service-Event': 'auth.login.success',
      'X-Service-Delivery': 'd-1',
    });
  });

  it('keys the HMAC with the whole text of the secret in UTF-8, prefix included', () => {
    const secret = 'whsec_ÄÖ-0123456789';
    const headers = signDelivery({ ...input, secrets: { current: secret } });
    const expected = createHmac('sha256', Buffer.from(secret, 'utf8')).update(canonicalString(values, body));
    expect(headers['X-Service-Signature-256']).toBe(`sha256=${expected.digest('hex')}`);
  });

  it('signs with the next secret in a header of its own', () => {
    const both = signDelivery({ ...input, secrets: { current: 'old', next: 'new' } });
    const alone = signDelivery({ ...input, secrets: { current: 'new' } });
    expect(both['X-Service-Signature-256-Next']).toBe(alone['X-Service-Signature-256']);
    expect(both['X-Service-Signature-256']).toBe(
      signDelivery({ ...input, secrets: { current: 'old' } })['X-Service-Signature-256'],
    );
  });

  it('refuses a suite it does not know', () => {
    expect(() => signDelivery({ ...input, suite: 'v2', secrets: { current: 'x' } })).toThrow('unknown');
    expect(() => deliveryHeaders({ ...values, suite: 'v2' }, { current: '' })).toThrow('unknown');
  });
});

describe('parseSignature', () => {
  const suite = findSuite('service-webhook-v1');
  const hex = 'ab'.repeat(32);

  it('reads the suite’s own form only', () => {
    if (suite === undefined) throw new Error('the suite is gone');
    expect(parseSignature(suite, `sha256=${hex}`)).toBe(hex);
    for (const value of [
      '',
      hex,
      `sha256=${hex}0`,
      `sha256=${hex.slice(1)}`,
      `SHA256=${hex}`,
      `sha256= ${hex}`,
    ]) {
      expect(parseSignature(suite, value)).toBeUndefined();
    }
    expect(parseSignature(suite, `sha256=${hex.toUpperCase()}`)).toBeUndefined();
    expect(parseSignature(suite, `sha256=${hex.slice(2)}zz`)).toBeUndefined();
  });
});
