// Streams of security events: their types, and the rules of what a receiver sends. Pure.
// docs/decisions/0027-streams.md
import type { Network } from '../../platform/egress/address-rules.ts';
import { invalidField } from '../../platform/errors/service-error.ts';
import { headersFor, readHeaders, readReceiverUrl } from '../subscriptions/subscription.ts';
import type { StreamRow } from './stream.model.ts';

/** Where the keys of security event tokens are published, below the address of the issuer. */
export const EVENT_JWKS_PATH = '/.well-known/ssf-jwks.json';

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** How tokens reach the receiver: RFC 8935 or RFC 8936. */
export const METHOD_URIS = { push: 'urn:ietf:rfc:8935', poll: 'urn:ietf:rfc:8936' } as const;
export type StreamMethod = keyof typeof METHOD_URIS;

export const STREAM_STATUSES = ['enabled', 'paused', 'disabled'] as const;
export type StreamStatus = (typeof STREAM_STATUSES)[number];

/** A stream, as its own receiver alone can name it. */
export type StreamName = readonly [tenantId: string, receiver: string, id: string];

/** What a receiver sends. A missing delivery is a poll. */
export type StreamInput = {
  readonly delivery?: DeliveryInput | undefined;
  readonly events_requested?: readonly string[] | undefined;
  readonly description?: string | undefined;
};

export type DeliveryInput =
  | { readonly method: typeof METHOD_URIS.poll; readonly endpoint_url?: string | undefined }
  | {
      readonly method: typeof METHOD_URIS.push;
      readonly endpoint_url: string;
      readonly authorization_header?: string | undefined;
    };

/** The delivery of a stream in its row. A stream that is polled has a host for people alone. */
export type StreamDelivery = {
  readonly method: StreamMethod;
  readonly url: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
};

const POLLED: StreamDelivery = { method: 'poll', url: METHOD_URIS.poll, host: 'poll', headers: {} };

/** The fields of a request that are a subscription's `url` and its one header. */
const FIELD = { url: 'body.delivery.endpoint_url', header: 'body.delivery.authorization_header' } as const;

/**
 * @param before where pushes went, with the headers in the clear: a masked one keeps its value for the same URL
 * @throws ServiceError `invalid_request` for a URL or a header that deliveries may not have
 */
export function decideDelivery(
  input: DeliveryInput | undefined,
  admitted: readonly Network[],
  before?: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
): StreamDelivery {
  if (input === undefined || input.method === METHOD_URIS.poll) return POLLED;
  const { endpoint_url, authorization_header } = input;
  const headers = authorization_header === undefined ? {} : { authorization: authorization_header };
  const place = readReceiverUrl(endpoint_url, admitted, FIELD.url);
  const stored = before && headersFor(place.url, before);
  return { method: 'push', ...place, headers: readHeaders(headers, stored, () => FIELD.header) };
}

/** The status of a stream. One that the service has stopped is paused, for the service's reason. */
export function statusOf({ method, status, reason, disabledReason, isOpen }: StreamRow): {
  status: StreamStatus;
  reason: string | null;
} {
  const isStopped = method === 'push' && status === 'enabled' && !isOpen;
  return isStopped ? { status: 'paused', reason: disabledReason } : { status, reason };
}

/**
 * Reads the agent that a subject names.
 * @param subject `iss_sub` of this issuer, or `opaque` with the agent's id @returns undefined for another subject
 */
export function agentOfSubject(
  subject: Readonly<Record<string, unknown>>,
  issuer: string,
): string | undefined {
  if (subject.format === 'opaque' && typeof subject.id === 'string') return subject.id;
  const isOwn = subject.format === 'iss_sub' && subject.iss === issuer;
  return isOwn && typeof subject.sub === 'string' ? subject.sub : undefined;
}

/**
 * Checks the members that the service supplies: a receiver may send them back, but not change them.
 * @throws ServiceError `invalid_request` naming the first that differs
 */
export function checkSupplied(
  sent: Readonly<Record<string, unknown>>,
  shown: Readonly<Record<string, unknown>>,
): void {
  for (const name of ['iss', 'aud', 'events_supported', 'events_delivered'])
    if (sent[name] !== undefined && textOfMember(sent[name]) !== textOfMember(shown[name]))
      throw invalidField(`body.${name}`, 'is supplied by the service, and is another one');
}

/** Lists of URIs are sets. */
function textOfMember(value: unknown): string {
  return JSON.stringify(Array.isArray(value) ? [...value].sort() : value);
}
