// Signs deliveries on the server, with node:crypto.

import { createHmac } from 'node:crypto';
import { canonicalHead, type SignedValues } from '../../../packages/receiver/src/canonical-string.ts';
import { deliveryHeaders } from '../../../packages/receiver/src/delivery-headers.ts';
import { findSuite, WEBHOOK_V1 } from '../../../packages/receiver/src/suites.ts';

/** A subscription's secrets; `next` during the overlap of a rotation. The HMAC key is the whole text in UTF-8. */
export type SigningSecrets = { current: string; next?: string | undefined };

/** What the HMAC covers. `timestamp` is in Unix seconds, `maxAge` in seconds, `body` the raw bytes. */
export type SignedDelivery = {
  readonly secrets: SigningSecrets;
  readonly timestamp: number;
  readonly maxAge: number;
  readonly deliveryId: string;
  readonly eventType: string;
  readonly body: Uint8Array;
};

/**
 * Signs one attempt of a delivery and returns its headers. Specification: Events, Signature.
 * @throws {Error} when the suite is unknown
 */
export function signDelivery({
  suite: name = WEBHOOK_V1,
  secrets,
  timestamp,
  maxAge,
  deliveryId,
  eventType,
  body,
}: SignedDelivery & { readonly suite?: string | undefined }): Record<string, string> {
  const suite = findSuite(name);
  if (suite === undefined) throw new Error(`unknown signature suite ${name}`);
  const values: SignedValues = {
    suite: name,
    timestamp: String(timestamp),
    maxAge: String(maxAge),
    deliveryId,
    eventType,
  };
  const head = canonicalHead(values);
  const sign = (secret: string) => createHmac(suite.hash, secret).update(head).update(body).digest('hex');
  return deliveryHeaders(values, {
    current: sign(secrets.current),
    next: secrets.next === undefined ? undefined : sign(secrets.next),
  });
}
