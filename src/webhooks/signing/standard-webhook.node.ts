// Signs deliveries as Standard Webhooks 1.0 does, beside the specified suite, so that a receiver can verify with the
// library that it already has.
import { createHmac, type KeyObject, sign as signWithKey } from 'node:crypto';
import type { SigningSecrets } from './delivery-signature.node.ts';

type StandardHeader = 'webhook-id' | 'webhook-timestamp' | 'webhook-signature';

const PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns the three headers of an attempt. During the overlap of a rotation there are two signatures of a kind, by the
 * old and by the new secret or key. Source: Standard Webhooks 1.0, "Verifying signatures" and "Signature scheme".
 * @param options `id` the same in each attempt, `timestamp` in Unix seconds, `body` as raw bytes; `secrets` make `v1`,
 *   ed25519 `keys` make `v1a`
 */
export function signStandardWebhook({
  id,
  timestamp,
  body,
  secrets,
  keys = [],
}: {
  id: string;
  timestamp: number;
  body: Uint8Array;
  secrets: SigningSecrets | undefined;
  keys?: readonly KeyObject[] | undefined;
}): Record<StandardHeader, string> {
  const head = `${id}.${timestamp}.`;
  const bySecret = (secret: string) =>
    `v1,${createHmac('sha256', keyOf(secret)).update(head).update(body).digest('base64')}`;
  const signatures = [secrets?.current, secrets?.next].flatMap((secret) =>
    secret === undefined ? [] : [bySecret(secret)],
  );
  if (keys.length > 0) {
    const whole = Buffer.concat([Buffer.from(head), body]);
    for (const key of keys) signatures.push(`v1a,${signWithKey(null, whole, key).toString('base64')}`);
  }
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** The decoded bytes of a `whsec_` secret in standard base64; of any other secret its text. */
function keyOf(secret: string): Buffer | string {
  const encoded = secret.slice(PREFIX.length);
  const isEncoded = secret.startsWith(PREFIX) && encoded !== '' && BASE64.test(encoded);
  return isEncoded ? Buffer.from(encoded, 'base64') : secret;
}
