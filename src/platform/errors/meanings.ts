// What each error code means, for whoever has to act on it: published in openapi.json and docs/errors.md. It must never decide what is answered.
import { describeError, ERRORS, type ErrorCode } from './catalogue.ts';

/** Source: Specification, "Agent authentication errors", "General error codes"; RFC 6749 §5.2, RFC 6750 §3.1, RFC 8707 §2. */
const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'The request is malformed; `errors` names the fields.',
  invalid_token: 'The access token is missing, malformed, forged, or not of this issuer.',
  token_expired: 'Access token expired.',
  token_revoked: 'Token or session revoked.',
  insufficient_scope: 'Token valid but lacks a required scope, or is for another audience.',
  invalid_client: 'Client authentication failed, or the client id is wrong for the tenant.',
  invalid_grant:
    'Challenge, refresh token or delegation token is invalid, expired, reused or mismatched; or the algorithm is not of the key.',
  unauthorized_client: 'The application may not use the requested grant type.',
  unsupported_grant_type: 'The grant_type value is malformed or unsupported.',
  invalid_scope: 'Scope malformed or not allowed.',
  challenge_expired: 'Verification after expires_at.',
  challenge_used: 'The challenge nonce was already consumed.',
  key_revoked: 'The key fingerprint is revoked, or its sunset has passed.',
  key_not_found: 'The fingerprint is not registered.',
  key_exists: 'The key is registered in the tenant already.',
  invalid_signature: 'Signature verification failed; the challenge is not spent.',
  policy_denied: 'A policy rejected the request: the agent, or the whole tenant, is suspended.',
  not_found: 'There is no such address, or nothing with this id in the tenant.',
  method_not_allowed: 'The address does not take this method; `Allow` names those it takes.',
  conflict: 'The request does not suit the present state of what it is about.',
  event_id_conflict: 'An event with this event_id and other content was published before.',
  subscription_inactive: 'The subscription is not active.',
  cursor_expired:
    'The cursor of a feed is older than what is kept, or of a database that was replaced. Begin again without it.',
  idempotency_in_progress: 'The first request with this idempotency key has not ended yet.',
  idempotency_key_reused: 'This idempotency key was used for another request.',
  payload_too_large: 'The body, or the event in it, is too large.',
  unsupported_media_type: 'The body has a type or an encoding that the address does not take.',
  request_timeout: 'The request did not arrive in time.',
  header_fields_too_large: 'The header fields are too large.',
  rate_limited: 'Request frequency or quota exceeded; `Retry-After` says for how long.',
  server_error: 'A failure of our own, which is in our log under the request id.',
  temporarily_unavailable: 'Something that the request needs is down; `Retry-After` says when to try again.',
  invalid_dpop_proof:
    'Proof of possession missing, malformed, expired or not bound to the token or request (RFC 9449).',
  use_dpop_nonce: 'Retry with a proof that holds the nonce of the `DPoP-Nonce` response header.',
  invalid_target: 'The requested audience is not one that the token may be for (RFC 8707).',
  delegation_expired: 'Delegation grant is past its expires_at.',
  invalid_redirect_uri: 'Redirect URI not registered or not an exact match.',
  pkce_required: 'A public client request lacks PKCE.',
  consent_required: 'Consent is required by the user or tenant policy.',
  wallet_not_provisioned: 'No wallet for the subject or chain.',
  wallet_frozen: 'Signing blocked by a freeze.',
  budget_exceeded: 'Wallet or delegation spend control rejected the action.',
  recipient_not_allowed: 'Recipient allowlist rejected the transaction.',
  contract_not_allowed: 'Contract allowlist rejected the transaction.',
  billing_feature_disabled: 'Feature unavailable for the plan, tenant or deployment.',
  billing_suspended: 'Billing state blocks billable operations.',
};

/** Codes after which the request may succeed when it is sent again, as `Retry-After` or `DPoP-Nonce` says. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'idempotency_in_progress',
  'request_timeout',
  'rate_limited',
  'server_error',
  'temporarily_unavailable',
  'use_dpop_nonce',
]);

/** What RFC 9449 §7.1 and §9 answer with 401 where a token is used, and §5 and §8 with the catalogue's 400 where one is issued. */
const OF_PROOF: ReadonlySet<ErrorCode> = new Set(['invalid_dpop_proof', 'use_dpop_nonce']);

/** The status of a code. @param atResource whether the request presents an access token, other than asking for one */
export function statusOf(code: ErrorCode, atResource: boolean): number {
  return atResource && OF_PROOF.has(code) ? 401 : describeError(code).status;
}

/** A code as it is published. */
export type PublishedError = {
  readonly code: ErrorCode;
  /** Each HTTP status that it comes with, that of the token endpoint first. */
  readonly statuses: readonly number[];
  readonly title: string;
  readonly meaning: string;
  readonly retryable: boolean;
  /** Named by the specification, but nothing in this service causes it. */
  readonly reserved: boolean;
};

/** All codes, those that occur first. */
export function publishErrors(): PublishedError[] {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return codes
    .map((code) => {
      const { title, reserved = false } = describeError(code);
      const statuses = [...new Set([statusOf(code, false), statusOf(code, true)])];
      return { code, statuses, title, meaning: MEANINGS[code], retryable: RETRYABLE.has(code), reserved };
    })
    .sort((left, right) => Number(left.reserved) - Number(right.reserved));
}
