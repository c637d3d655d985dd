// What a client does about each error code. Published at `{base}/docs/errors` of each tenant and in docs/errors.md.
// docs/decisions/0038-help-of-errors.md
import type { ErrorCode } from './catalogue.ts';

/** Markdown of one paragraph. Codes that are reserved have none. */
export const ADVICE: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_request:
    'Correct what `errors` names; an unknown field comes with the one that was probably meant. Do not repeat as it is.',
  invalid_token:
    'Send `Authorization: Bearer <token>` with a token of this tenant (`POST {issuer_url}/oauth/token`). A DPoP-bound token goes as `DPoP <token>` with a proof.',
  token_expired:
    'Get a new token: the same grant again, or the refresh token. Look at the clock if the token is new.',
  token_revoked:
    'Authenticate anew. If that is refused too, the agent, its key or the tenant was ended: ask its management.',
  insufficient_scope:
    'Ask for the scope that `detail` names, and give it to the application or agent first; or name the right `resource`.',
  invalid_client:
    'Check client id, secret and address of the tenant: an application of one tenant is unknown to another.',
  invalid_grant:
    'Begin again: a new challenge, authentication instead of the refresh token, a new enrollment token or assertion. `detail` says which of them.',
  unauthorized_client: "Add the grant to the application's `grant_types`.",
  unsupported_grant_type: 'Use one of `grant_types_supported` in the metadata of the issuer.',
  unsupported_response_type:
    "The program asked for a user's consent by a browser. Give it client credentials, or a token; it needs no user.",
  invalid_scope: 'Ask for less, or give the agent or application the scope; `detail` names what it may have.',
  challenge_expired: 'Ask for a new challenge and answer it within 5 minutes.',
  challenge_used:
    'Ask for a new challenge; each is good for one success. Two processes must not answer the same one.',
  key_revoked: 'Register another key, by management or by an enrollment token; this one does not come back.',
  key_not_found:
    'Compare the fingerprint with `GET /api/v1/agents/{agent_id}/keys`: the SHA-256 of the raw public key.',
  key_exists: 'Use the key that is registered, or make another: one key belongs to one agent of a tenant.',
  invalid_signature:
    'Compare the signed text with the nine lines: `detail` has their length and SHA-256. There is no line feed at the end; the signature is base64, by the key of the challenge. The challenge can be answered again.',
  policy_denied:
    "Ask who suspended the agent, or the tenant, to reactivate it; a stream is its own client's to change. Repeating does not help.",
  not_found:
    'Check the id and the address of the tenant: what belongs to another tenant does not exist here.',
  method_not_allowed: 'Use a method that `Allow` names.',
  conflict: 'Read the resource, and decide by its present state; `detail` names the reason.',
  event_id_conflict: 'The first event with this id is published. Give the second one another `event_id`.',
  subscription_inactive: 'Activate the subscription (`active: true`) first.',
  cursor_expired: 'Begin again without the cursor, with `since` if events were read up to a time.',
  idempotency_in_progress: 'Wait for `Retry-After` and send the same request with the same key.',
  idempotency_key_reused: 'Use a new key for a new request.',
  payload_too_large:
    'Send less: 128 KiB a request, 1 MiB of events, 256 KiB an event; split an array of events.',
  unsupported_media_type:
    'Send `application/json`, and forms to routes below `/oauth/`, without an encoding.',
  request_timeout: 'Send it again; look at the connection, or at a proxy that holds the body back.',
  header_fields_too_large: 'Send fewer or shorter header fields; cookies of other sites have no use here.',
  rate_limited: 'Wait for `Retry-After`, then repeat; `ratelimit-policy` names the limit.',
  server_error: 'Repeat with the same idempotency key. If it stays, give the operator the `request_id`.',
  temporarily_unavailable: 'Repeat after `Retry-After`, with the same idempotency key.',
  invalid_dpop_proof:
    'Make a fresh proof for each request: method and address as the client sees them, `ath` of the token, the key of the token, the clock right.',
  use_dpop_nonce:
    'Repeat immediately with the nonce of the `DPoP-Nonce` header, and keep it for the next proof.',
  invalid_target:
    "Name a `resource` out of the agent's `audience` and `audiences`, character by character, or add it there.",
  delegation_expired: 'The user delegates anew: `POST /api/v1/delegations`.',
};
