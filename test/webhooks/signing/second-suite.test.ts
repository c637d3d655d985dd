// A second signature suite is a second row of the table: here one is added, and sender and receiver know it without
// another change.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSuite, type SignatureSuite, SUITES, WEBHOOK_V1 } from '../../../packages/receiver/src/suites.ts';
import { verifyDelivery } from '../../../packages/receiver/src/verify-delivery.ts';
import { signDelivery } from '../../../src/webhooks/signing/delivery-signature.node.ts';

const SECOND: SignatureSuite = {
  name: 'service-webhook-v2',
  hash: 'sha512',
  signatureHeader: 'X-Service-Signature-512',
  nextSignatureHeader: 'X-Service-Signature-512-Next',
  prefix: 'sha512=',
  length: 64,
};

const SECRET = 'whsec_current-secret-of-this-subscription';
const NEXT = 'whsec_the-next-secret-of-this-subscription';
const NOW = 1_700_000_000;
const body = new TextEncoder().encode('{"event_id":"e"}');

function headersOf(suite: string, secrets: { current: string; next?: string } = { current: SECRET }) {
  const signed = signDelivery({
    suite,
    secrets,
    body,
    timestamp: NOW,
    maxAge: 300,
    deliveryId: 'd-1',
    eventType: 'auth.login.success',
  });
  return new Headers({ ...signed, 'Content-Type': 'application/json' });
}

const verify = (headers: Headers, changes: { body?: Uint8Array; secrets?: string } = {}) =>
  verifyDelivery({ method: 'POST', headers, body, secrets: SECRET, now: NOW * 1000, ...changes });

describe('a second suite', () => {
  // The table is only readonly for the compiler; nothing else in the service may write to it.
  const rows = SUITES as SignatureSuite[];

  it('is unknown, and refused, while it has no row', async () => {
    expect(findSuite(SECOND.name)).toBeUndefined();
    expect(() => headersOf(SECOND.name)).toThrow('unknown signature suite');
    const headers = headersOf(WEBHOOK_V1);
    headers.set('X-Service-Signature-Suite', SECOND.name);
    expect(await verify(headers)).toMatchObject({ ok: false, refusal: 'unsupported_suite' });
  });

  describe('with its row', () => {
    beforeAll(() => void rows.push(SECOND));
    afterAll(() => void rows.pop());

    it('signs in its own headers and form, and is verified', async () => {
      const headers = headersOf(SECOND.name);
      expect(headers.get('X-Service-Signature-Suite')).toBe('service-webhook-v2');
      expect(headers.get('X-Service-Signature-512')).toMatch(/^sha512=[0-9a-f]{128}$/);
      expect(headers.has('X-Service-Signature-256')).toBe(false);
      expect(await verify(headers)).toMatchObject({ ok: true, deliveryId: 'd-1' });
    });

    it('carries the signature of the next secret while a rotation overlaps', async () => {
      const headers = headersOf(SECOND.name, { current: SECRET, next: NEXT });
      expect(await verify(headers, { secrets: NEXT })).toMatchObject({ ok: true });
      expect(await verify(headers)).toMatchObject({ ok: true });
    });

    it('is refused when anything was changed, or another secret signed', async () => {
      const refused = { ok: false, refusal: 'invalid_signature' };
      const changed = new TextEncoder().encode('{"event_id":"f"}');
      expect(await verify(headersOf(SECOND.name), { body: changed })).toMatchObject(refused);
      expect(await verify(headersOf(SECOND.name), { secrets: NEXT })).toMatchObject(refused);
      const event = headersOf(SECOND.name);
      event.set('X-Service-Event', 'auth.logout');
      expect(await verify(event)).toMatchObject(refused);
    });

    it('cannot be passed off as the first, nor the first as it', async () => {
      for (const [made, claimed] of [
        [SECOND.name, WEBHOOK_V1],
        [WEBHOOK_V1, SECOND.name],
      ] as const) {
        const headers = headersOf(made);
        headers.set('X-Service-Signature-Suite', claimed);
        expect(await verify(headers)).toMatchObject({ ok: false, refusal: 'invalid_signature' });
      }
    });

    it('leaves the first as it is', async () => {
      const headers = headersOf(WEBHOOK_V1);
      expect(headers.get('X-Service-Signature-256')).toMatch(/^sha256=[0-9a-f]{64}$/);
      expect(await verify(headers)).toMatchObject({ ok: true });
    });
  });
});
