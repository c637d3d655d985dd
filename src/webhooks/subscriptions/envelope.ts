// The forms in which a delivery carries its event: the service's own body, or CloudEvents 1.0 in either mode of HTTP.
// Pure.

/** `plain`: the body as it is stored. The others: CloudEvents 1.0, HTTP protocol binding §3.2 and §3.1. */
export const ENVELOPES = ['plain', 'cloudevents-structured', 'cloudevents-binary'] as const;
export type Envelope = (typeof ENVELOPES)[number];

const JSON_TYPE = 'application/json';
const STRUCTURED_TYPE = 'application/cloudevents+json; charset=utf-8';

/** The stored body of an event; see `prepareEvent`. */
type StoredBody = { event_id: string; type: string; occurred_at: string; tenant_id: string; data: unknown };

/** What a delivery sends: the bytes that are signed, their media type, and the headers of the envelope. */
export type Enclosed = {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Puts an event into the envelope of its subscription. The same bytes give the same answer, in each attempt.
 * @param body the stored bytes
 */
export function enclose(envelope: Envelope, body: Uint8Array): Enclosed {
  if (envelope === 'plain') return { body, contentType: JSON_TYPE, headers: {} };
  const { data, ...event } = JSON.parse(new TextDecoder().decode(body)) as StoredBody;
  const attributes = attributesOf(event);
  if (envelope === 'cloudevents-structured')
    return {
      body: encode({ ...attributes, datacontenttype: JSON_TYPE, data }),
      contentType: STRUCTURED_TYPE,
      headers: {},
    };
  const headers = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, encodeHeader(value)]);
  return { body: encode(data), contentType: JSON_TYPE, headers: Object.fromEntries(headers) };
}

/** The context attributes (CloudEvents 1.0, "Context Attributes"). An event id is unique within its tenant. */
function attributesOf({ event_id, type, occurred_at, tenant_id }: Omit<StoredBody, 'data'>) {
  return { specversion: '1.0', id: event_id, source: sourceOf(tenant_id), type, time: occurred_at };
}

/** The `source` of a tenant's events, which stays the same when the tenant gets another address. */
export function sourceOf(tenantId: string): string {
  return `urn:uuid:${tenantId}`;
}

/** Percent-encodes what a header must not hold (HTTP protocol binding §3.1.3.2). */
function encodeHeader(value: string): string {
  return value.replace(/[^\x21-\x7e]|["%]/gu, (character) => encodeURIComponent(character));
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
