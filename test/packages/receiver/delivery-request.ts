// Signed requests for the tests of receivers, and a log that can be watched.
import { randomUUID } from 'node:crypto';
import { signDelivery } from '../../../src/webhooks/signing/delivery-signature.node.ts';

export const SECRET = 'whsec_current-secret-of-this-subscription';

/** A signed delivery as a receiver gets it, with lowercase header names. */
export function signedDelivery({
  body = JSON.stringify({ event_id: 'e-1', type: 'auth.login.success', data: { text: 'grüße' } }) as
    | string
    | Uint8Array,
  deliveryId = randomUUID() as string,
  secrets = { current: SECRET } as { current: string; next?: string },
  timestamp = Math.floor(Date.now() / 1000),
  maxAge = 300,
} = {}) {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = signDelivery({
    ...{ secrets, timestamp, maxAge, deliveryId, body: bytes },
    eventType: 'auth.login.success',
  });
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(signed)) headers[name.toLowerCase()] = value;
  return { method: 'POST', headers, body: bytes, deliveryId };
}
