// Turns an event of the service into the claims of a security event token (RFC 8417, OpenID Shared Signals Framework
// 1.0, CAEP 1.0). Pure.
import type { JsonObject, JsonValue } from '../../events/event.ts';

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';
const SESSION_REVOKED = `${CAEP}session-revoked`;
const CREDENTIAL_CHANGE = `${CAEP}credential-change`;

/** The event types of streams themselves. They go to their stream alone, whatever it has asked for. */
export const VERIFICATION = 'webhook.stream.verification';
const STREAM_UPDATED = 'webhook.stream.updated';

/** A subject (RFC 9493, and the complex form of SSF). */
type Subject = { readonly [member: string]: string | Subject };

/** What a token says: the URI of its event, the subject, and the members of the event. */
type Statement = { readonly uri: string; readonly subject: Subject; readonly members: JsonObject };

/** The body of a delivery. */
type EventBody = {
  readonly event_id: string;
  readonly type: string;
  readonly occurred_at: string;
  readonly data: Readonly<Record<string, JsonValue>>;
};

type State = (data: EventBody['data'], issuer: string) => Statement;

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** Receivers must know this form (CAEP interoperability profile, "Event Subjects"). */
const agentOf = (issuer: string, id: JsonValue | undefined): Subject => ({
  format: 'iss_sub',
  iss: issuer,
  sub: textOf(id),
});

const because = (text: string): JsonObject => ({ reason_admin: { en: text } });

const endsSessions =
  (reason: string): State =>
  ({ agent_id }, issuer) => ({
    uri: SESSION_REVOKED,
    subject: agentOf(issuer, agent_id),
    members: { initiating_entity: 'admin', ...because(reason) },
  });

const changesKey =
  (change: 'create' | 'update' | 'revoke', reason: string): State =>
  ({ agent_id, key_id, key_fingerprint }, issuer) => ({
    uri: CREDENTIAL_CHANGE,
    subject: agentOf(issuer, agent_id),
    members: {
      credential_type: 'public-key',
      change_type: change,
      initiating_entity: 'admin',
      key_id: textOf(key_id),
      key_fingerprint: textOf(key_fingerprint),
      ...because(reason),
    },
  });

/**
 * One token, or all that came of one refresh token, ends: the session in the subject says which. Or all tokens of a
 * principal: then the subject is that principal.
 */
const endsToken: State = (data, issuer) => ({
  uri: SESSION_REVOKED,
  subject: data.token_type === 'all' ? principalOf(data, issuer) : sessionOf(data, issuer),
  members: because(
    data.cause === undefined ? 'The token was revoked.' : `Tokens were ended by ${textOf(data.cause)}.`,
  ),
});

function sessionOf({ token_id, family_id, sub }: EventBody['data'], issuer: string): Subject {
  const session: Subject =
    token_id === undefined
      ? { format: 'opaque', id: textOf(family_id) }
      : { format: 'jwt_id', iss: issuer, jti: textOf(token_id) };
  return { format: 'complex', user: agentOf(issuer, sub), session };
}

function principalOf({ principal, sub }: EventBody['data'], issuer: string): Subject {
  if (principal === 'agent') return agentOf(issuer, sub);
  if (principal === 'tenant') return { format: 'complex', tenant: { format: 'opaque', id: textOf(sub) } };
  return { format: 'complex', application: agentOf(issuer, sub) };
}

/** The sessions that an agent has for a user end. */
const endsDelegation: State = ({ agent_id, subject_id }, issuer) => ({
  uri: SESSION_REVOKED,
  subject: {
    format: 'complex',
    user: agentOf(issuer, subject_id),
    application: agentOf(issuer, agent_id),
  },
  members: { initiating_entity: 'admin', ...because('The delegation was revoked.') },
});

const SESSIONS: Readonly<Record<string, State>> = {
  'admin.agent.suspended': endsSessions('The agent was suspended.'),
  'admin.agent.deleted': endsSessions('The agent was deleted.'),
  'admin.delegation.revoked': endsDelegation,
  'auth.token.revoked': endsToken,
};
const CREDENTIALS: Readonly<Record<string, State>> = {
  'admin.agent.key.registered': changesKey('create', 'A key was registered.'),
  'admin.agent.key.deprecated': changesKey('update', 'The key was deprecated and has a sunset.'),
  'admin.agent.key.revoked': changesKey('revoke', 'The key was revoked.'),
};
const STATED: Readonly<Record<string, State>> = { ...SESSIONS, ...CREDENTIALS };

const TYPES_BY_URI: ReadonlyMap<string, readonly string[]> = new Map([
  [SESSION_REVOKED, Object.keys(SESSIONS)],
  [CREDENTIAL_CHANGE, Object.keys(CREDENTIALS)],
]);

/** The URIs of the events that a receiver can ask for. */
export const EVENTS_SUPPORTED: readonly string[] = [...TYPES_BY_URI.keys()];

/** Those of the requested URIs that the service delivers; all that it has when nothing was requested. */
export function eventsDelivered(requested: readonly string[] | null): string[] {
  return EVENTS_SUPPORTED.filter((uri) => requested === null || requested.includes(uri));
}

/** The event types of the service that become events with these URIs. */
export function typesOf(uris: readonly string[]): string[] {
  return uris.flatMap((uri) => TYPES_BY_URI.get(uri) ?? []);
}

/**
 * Builds the claims of a token. Each attempt builds the same but for `iat`, so a receiver knows a repetition by `jti`.
 * @param body of the delivery, as every subscription gets it
 * @param given `jti`: the delivery's id; `at`: the time of the attempt in Unix milliseconds
 * @returns undefined for an event that has no form as a security event
 */
export function securityEventOf(
  body: Uint8Array,
  given: { issuer: string; audience: string; streamId: string; jti: string; at: number },
): JsonObject | undefined {
  const event = JSON.parse(new TextDecoder().decode(body)) as EventBody;
  const statement = stateOf(event, given);
  if (statement === undefined) return undefined;
  const { uri, subject, members } = statement;
  return {
    iss: given.issuer,
    jti: given.jti,
    iat: Math.floor(given.at / 1000),
    aud: given.audience,
    txn: event.event_id,
    sub_id: subject,
    events: { [uri]: members },
  };
}

function stateOf(
  event: EventBody,
  { issuer, streamId }: { issuer: string; streamId: string },
): Statement | undefined {
  const stream = { format: 'opaque', id: streamId };
  const { state, status, reason } = event.data;
  if (event.type === VERIFICATION)
    return {
      uri: `${SSF}verification`,
      subject: stream,
      members: { ...(state === undefined ? {} : { state }) },
    };
  if (event.type === STREAM_UPDATED)
    return {
      uri: `${SSF}stream-updated`,
      subject: stream,
      members: { status: textOf(status), reason: textOf(reason) },
    };
  const statement = STATED[event.type]?.(event.data, issuer);
  if (statement === undefined) return undefined;
  const happened = Math.floor(Date.parse(event.occurred_at) / 1000);
  return { ...statement, members: { event_timestamp: happened, ...statement.members } };
}
