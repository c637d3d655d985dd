// The canonical string of a delivery: the bytes that are signed. Pure. The payload goes in as the raw bytes of the
// body.

/** The values before the payload, as they stand in the delivery's headers. */
export type SignedValues = {
  suite: string;
  /** Unix seconds at signing, as written in `X-Service-Timestamp`. */
  timestamp: string;
  /** The sender's replay window in seconds, as written in `X-Service-Signature-Max-Age`. */
  maxAge: string;
  deliveryId: string;
  eventType: string;
};

/**
 * The part of the canonical string that stands before the payload, its last line feed included: suite, timestamp,
 * max_age, delivery_id and event_type, each followed by a line feed. Specification: Events, Signature.
 *
 * A value with a line feed would make two different deliveries sign the same bytes; header values cannot hold one, and
 * callers that take the values from elsewhere must refuse it.
 */
export function canonicalHead({ suite, timestamp, maxAge, deliveryId, eventType }: SignedValues): string {
  return `${suite}\n${timestamp}\n${maxAge}\n${deliveryId}\n${eventType}\n`;
}

/**
 * The whole canonical string as bytes: six values joined by line feeds, the payload last. Specification: Events,
 * Signature.
 *
 * @param payload the raw bytes of the body
 */
export function canonicalString(values: SignedValues, payload: Uint8Array): Uint8Array {
  const head = new TextEncoder().encode(canonicalHead(values));
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}
