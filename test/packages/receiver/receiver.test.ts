// Holds the receiver's verification to the specification: what we sign passes, tampering is refused, in the order of
// the rules.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ReceivedHeaders, type Refusal, verifyDelivery } from '../../../packages/receiver/src/index.ts';
import { signDelivery } from '../../../src/webhooks/signing/delivery-signature.node.ts';

const NOW = 1_700_000_000;
const SECRET = 'whsec_current-secret-of-this-subscription';
const body = new TextEncoder().encode('{"event_id":"e"}');

type Headers = Record<string, string | undefined>;

function delivery({
  secrets = { current: SECRET } as { current: string; next?: string },
  at = NOW,
  maxAge = 300,
} = {}) {
  const signed = signDelivery({
    ...{ secrets, maxAge, body, timestamp: at },
    ...{ deliveryId: 'd-1', eventType: 'auth.login.success' },
  });
  const headers: Headers = { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(signed)) headers[name.toLowerCase()] = value;
  return headers;
}

function verify(headers: ReceivedHeaders, changes: Partial<Parameters<typeof verifyDelivery>[0]> = {}) {
  return verifyDelivery({ method: 'POST', headers, body, secrets: SECRET, now: NOW * 1000, ...changes });
}

describe('verifyDelivery', () => {
  it('accepts what the service signs, from an object and from Headers', async () => {
    const accepted = {
      ok: true,
      deliveryId: 'd-1',
      eventType: 'auth.login.success',
      timestamp: NOW,
      replayWindowSeconds: 300,
    };
    expect(await verify(delivery())).toEqual(accepted);
    const headers = new Headers(Object.entries(delivery()).map(([name, value]) => [name, value ?? '']));
    expect(await verify(headers)).toEqual(accepted);
    expect((await verify({ ...delivery(), 'content-type': 'Application/JSON; charset=utf-8' })).ok).toBe(
      true,
    );
  });

  it('accepts any body, type and id that the service signs', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.stringMatching(/^[\x21-\x7e]{1,40}$/),
        async (bytes, id) => {
          const signed = signDelivery({
            ...{ secrets: { current: SECRET }, maxAge: 60, body: bytes, timestamp: NOW },
            ...{ deliveryId: id, eventType: 'a.b' },
          });
          const headers = new Headers({ ...signed, 'content-type': 'application/json' });
          expect(await verify(headers, { body: bytes })).toMatchObject({ ok: true, deliveryId: id });
        },
      ),
    );
  });

  it('accepts either secret during a rotation, on either side', async () => {
    const overlapping = delivery({ secrets: { current: 'old', next: 'new' } });
    for (const secrets of ['old', 'new', ['old', 'new'], ['new', 'old'], ['other', 'new']]) {
      expect((await verify(overlapping, { secrets })).ok).toBe(true);
    }
    expect((await verify(overlapping, { secrets: ['other'] })).ok).toBe(false);
    expect((await verify(delivery({ secrets: { current: 'new' } }), { secrets: ['old', 'new'] })).ok).toBe(
      true,
    );
  });

  const other = `sha256=${'0'.repeat(64)}`;
  it.each<[what: string, Headers, Refusal]>([
    ['a form', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
    ['no content type', { 'content-type': undefined }, 'unsupported_media_type'],
    ['no suite', { 'x-service-signature-suite': undefined }, 'unsupported_suite'],
    ['another suite', { 'x-service-signature-suite': 'service-webhook-v2' }, 'unsupported_suite'],
    [
      'the name of an object’s own property',
      { 'x-service-signature-suite': 'constructor' },
      'unsupported_suite',
    ],
    ['no timestamp', { 'x-service-timestamp': undefined }, 'malformed_headers'],
    ['a timestamp that is no number', { 'x-service-timestamp': '1e9' }, 'malformed_headers'],
    ['no max-age', { 'x-service-signature-max-age': undefined }, 'malformed_headers'],
    ['an id of two lines', { 'x-service-delivery': 'd\n1' }, 'malformed_headers'],
    ['no event type', { 'x-service-event': undefined }, 'malformed_headers'],
    ['no signature', { 'x-service-signature-256': undefined }, 'invalid_signature'],
    ['another signature', { 'x-service-signature-256': other }, 'invalid_signature'],
    ['another timestamp', { 'x-service-timestamp': String(NOW + 1) }, 'invalid_signature'],
    ['another max-age', { 'x-service-signature-max-age': '3600' }, 'invalid_signature'],
    ['another id', { 'x-service-delivery': 'd-2' }, 'invalid_signature'],
    ['another event type', { 'x-service-event': 'auth.logout' }, 'invalid_signature'],
  ])('refuses %s', async (_what, changes, refusal) => {
    expect(await verify({ ...delivery(), ...changes })).toMatchObject({ ok: false, refusal });
  });

  it('refuses another body, even one that means the same JSON', async () => {
    const respelled = new TextEncoder().encode('{ "event_id": "e" }');
    expect(await verify(delivery(), { body: respelled })).toMatchObject({ refusal: 'invalid_signature' });
  });

  it('refuses a delivery older than the smaller of both limits, or from the future', async () => {
    const aged = (seconds: number, changes = {}) =>
      verify(delivery({ maxAge: 120 }), { now: (NOW + seconds) * 1000, ...changes });
    expect((await aged(120)).ok).toBe(true);
    expect(await aged(121)).toMatchObject({ refusal: 'stale_timestamp', status: 401 });
    expect(await aged(60, { maxAgeSeconds: 60 })).toMatchObject({ ok: true, replayWindowSeconds: 60 });
    expect(await aged(61, { maxAgeSeconds: 60 })).toMatchObject({ refusal: 'stale_timestamp' });
    expect(await aged(121, { maxAgeSeconds: 3600 })).toMatchObject({ refusal: 'stale_timestamp' });
    expect((await aged(-60)).ok).toBe(true);
    expect(await aged(-61)).toMatchObject({ refusal: 'future_timestamp' });
  });

  it('names the first rule that is broken, in the order of the specification', async () => {
    const broken: Headers = {
      'x-service-timestamp': '1',
      'x-service-signature-256': other,
      'x-service-signature-suite': 'v0',
      'content-type': 'text/html',
    };
    const repaired = delivery();
    const steps: [string, Refusal][] = [
      ['content-type', 'unsupported_media_type'],
      ['x-service-signature-suite', 'unsupported_suite'],
      ['x-service-signature-256', 'invalid_signature'],
    ];
    expect(await verify(broken, { method: 'PUT' })).toMatchObject({
      refusal: 'method_not_allowed',
      status: 405,
    });
    const headers: Headers = { ...repaired, ...broken };
    for (const [name, refusal] of steps) {
      expect(await verify(headers)).toMatchObject({ refusal });
      headers[name] = repaired[name];
    }
    expect(await verify(delivery({ at: 1 }))).toMatchObject({ refusal: 'stale_timestamp' });
  });

  it('refuses to work without a secret', async () => {
    for (const secrets of [[], '', [''], ['good', '']]) {
      await expect(verify(delivery(), { secrets })).rejects.toThrow(TypeError);
    }
  });

  it('reads names in any case and a list of one, as gateways and functions hand headers over', async () => {
    const entries = Object.entries(delivery()).map(([name, value]) => [name, value ?? ''] as const);
    const asSent = entries.map(([name, value]) => [name.replace(/\b[a-z]/g, (l) => l.toUpperCase()), value]);
    for (const headers of [
      Object.fromEntries(asSent),
      Object.fromEntries(entries.map(([name, value]) => [name.toUpperCase(), value])),
      Object.fromEntries(asSent.map(([name, value]) => [name, [value]])),
    ]) {
      expect(await verify(headers)).toMatchObject({ ok: true, deliveryId: 'd-1' });
    }
  });

  it.each<[string, ReceivedHeaders]>([
    ['in a list', { ...delivery(), 'x-service-delivery': ['d-1', 'd-1'] }],
    ['in an empty list', { ...delivery(), 'x-service-delivery': [] }],
    ['by two spellings', { ...delivery(), 'X-Service-Delivery': 'd-1' }],
  ])('reads a header that is not there exactly once as a missing one: %s', async (_how, headers) => {
    expect(await verify(headers)).toMatchObject({ refusal: 'malformed_headers' });
  });

  it.each([
    ['text', '{"event_id":"e"}'],
    ['a parsed body', { event_id: 'e' }],
    ['nothing', undefined],
  ])('says that it needs bytes when it is given %s', async (_what, given) => {
    const changes = { body: given as unknown as Uint8Array };
    await expect(verify(delivery(), changes)).rejects.toThrow(/^body: .*bytes/);
    await expect(verify(delivery(), changes)).rejects.toThrow(TypeError);
  });
});
