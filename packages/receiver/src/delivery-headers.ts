// Defines the headers of a delivery, for the sender and the receiver. Pure.

import type { SignedValues } from './canonical-string.ts';
import { findSuite, formatSignature } from './suites.ts';

/** Header names that are the same in each suite. Specification: Events, Delivery. */
export const SUITE_HEADER = 'X-Service-Signature-Suite';
export const MAX_AGE_HEADER = 'X-Service-Signature-Max-Age';
export const TIMESTAMP_HEADER = 'X-Service-Timestamp';
export const EVENT_HEADER = 'X-Service-Event';
export const DELIVERY_HEADER = 'X-Service-Delivery';

/** The MACs of a delivery in lowercase hex. `next` is made with the next secret during the overlap of a rotation. */
export type Signatures = { current: string; next?: string | undefined };

/**
 * Builds the headers with a delivery's metadata and signatures. The `-Next` header exists only during the overlap of a
 * secret's rotation. Specification: Events, Delivery.
 * @throws {Error} when the suite is unknown
 */
export function deliveryHeaders(values: SignedValues, signatures: Signatures): Record<string, string> {
  const suite = findSuite(values.suite);
  if (suite === undefined) throw new Error(`unknown signature suite ${values.suite}`);
  const headers: Record<string, string> = {
    [SUITE_HEADER]: values.suite,
    [suite.signatureHeader]: formatSignature(suite, signatures.current),
    [MAX_AGE_HEADER]: values.maxAge,
    [TIMESTAMP_HEADER]: values.timestamp,
    [EVENT_HEADER]: values.eventType,
    [DELIVERY_HEADER]: values.deliveryId,
  };
  if (signatures.next !== undefined) {
    headers[suite.nextSignatureHeader] = formatSignature(suite, signatures.next);
  }
  return headers;
}
