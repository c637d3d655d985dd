// Builds the canonical string of a delivery, which is the signed bytes. The payload is the raw bytes of the body. Pure.

/** The values before the payload, as in the delivery's headers. */
export type SignedValues = {
  suite: string;
  /** Unix seconds at signing, as in `X-Service-Timestamp`. */
  timestamp: string;
  /** The sender's replay window in seconds, as in `X-Service-Signature-Max-Age`. */
  maxAge: string;
  deliveryId: string;
  eventType: string;
};

/**
 * Builds the part before the payload: suite, timestamp, max_age, delivery_id and event_type, each followed by a line
 * feed. Specification: Events, Signature.
 *
 * No value may contain a line feed, because two different deliveries could then have the same signed bytes. Values from
 * headers cannot contain one. Callers with values from other sources must reject it.
 */
export function canonicalHead({ suite, timestamp, maxAge, deliveryId, eventType }: SignedValues): string {
  return `${suite}\n${timestamp}\n${maxAge}\n${deliveryId}\n${eventType}\n`;
}

/**
 * Builds the whole canonical string: six values joined by line feeds, the payload last. Specification: Events,
 * Signature.
 * @param payload the raw bytes of the body
 */
export function canonicalString(values: SignedValues, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(canonicalHead(values));
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}
