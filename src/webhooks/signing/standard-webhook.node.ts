// Signs deliveries as Standard Webhooks 1.0 does, beside the specified suite, so that a receiver can verify with the
// library that it already has.
import { createHmac } from 'node:crypto';
import type { SigningSecrets } from './delivery-signature.node.ts';

type StandardHeader = 'webhook-id' | 'webhook-timestamp' | 'webhook-signature';

const PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns the three headers of an attempt. During the overlap of a rotation there are two signatures, by the old secret
 * and by the new one. Source: Standard Webhooks 1.0, "Verifying signatures" and "Signature scheme".
 * @param options `id` the same in each attempt, `timestamp` in Unix seconds, `body` as raw bytes
 */
export function signStandardWebhook({
  id,
  timestamp,
  body,
  secrets: { current, next },
}: {
  id: string;
  timestamp: number;
  body: Uint8Array;
  secrets: SigningSecrets;
}): Record<StandardHeader, string> {
  const head = `${id}.${timestamp}.`;
  const sign = (secret: string) =>
    `v1,${createHmac('sha256', keyOf(secret)).update(head).update(body).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': next === undefined ? sign(current) : `${sign(current)} ${sign(next)}`,
  };
}

/** The decoded bytes of a `whsec_` secret in standard base64; of any other secret its text. */
function keyOf(secret: string): Buffer | string {
  const encoded = secret.slice(PREFIX.length);
  const isEncoded = secret.startsWith(PREFIX) && encoded !== '' && BASE64.test(encoded);
  return isEncoded ? Buffer.from(encoded, 'base64') : secret;
}
