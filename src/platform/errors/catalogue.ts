// The table of error codes: status, meaning, and whether a retry may succeed. Published in openapi.json and
// docs/errors.md.

type Entry = {
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  /** The request may succeed when it is repeated as `Retry-After` or `DPoP-Nonce` says. */
  readonly retryable?: true;
  /** The specification names the code, but no route of this service can cause it yet. */
  readonly reserved?: true;
  /** Another status for requests that present an access token (RFC 9449 §7.1, §9). */
  readonly statusAtResource?: number;
};

type More = Pick<Entry, 'retryable' | 'reserved' | 'statusAtResource'>;

const entry = (status: number, title: string, meaning: string, more: More = {}): Entry => ({
  status,
  title,
  meaning,
  ...more,
});

/**
 * Every code of the specification ("Errors") and the codes that this service adds; RFC 6749 §5.2, RFC 6750 §3.1, RFC
 * 8707 §2, RFC 9449 §5.
 */
export const ERRORS = {
  invalid_request: entry(400, 'Bad Request', 'The request is malformed; `errors` names the fields.'),
  invalid_token: entry(
    401,
    'Unauthorized',
    'The access token is missing, malformed, forged, or not of this issuer.',
  ),
  token_expired: entry(401, 'Unauthorized', 'Access token expired.'),
  token_revoked: entry(401, 'Unauthorized', 'Token or session revoked.'),
  insufficient_scope: entry(
    403,
    'Forbidden',
    'Token valid but lacks a required scope, or is for another audience.',
  ),
  invalid_client: entry(
    401,
    'Unauthorized',
    'Client authentication failed, or the client id is wrong for the tenant.',
  ),
  invalid_grant: entry(
    400,
    'Invalid Grant',
    'Challenge, refresh token, delegation token or assertion is invalid, expired, reused or mismatched; or the algorithm is not of the key.',
  ),
  unauthorized_client: entry(400, 'Bad Request', 'The application may not use the requested grant type.'),
  unsupported_grant_type: entry(400, 'Bad Request', 'The grant_type value is malformed or unsupported.'),
  unsupported_response_type: entry(400, 'Bad Request', 'There is no authorization of users here.'),
  invalid_scope: entry(400, 'Bad Request', 'Scope malformed or not allowed.'),
  challenge_expired: entry(400, 'Challenge Expired', 'Verification after expires_at.'),
  challenge_used: entry(400, 'Challenge Used', 'The challenge nonce was already consumed.'),
  key_revoked: entry(403, 'Key Revoked', 'The key fingerprint is revoked, or its sunset has passed.'),
  key_not_found: entry(404, 'Key Not Found', 'The fingerprint is not registered.'),
  key_exists: entry(409, 'Key Exists', 'The key is registered in the tenant already.'),
  invalid_signature: entry(
    401,
    'Invalid Signature',
    'Signature verification failed; the challenge is not spent.',
  ),
  policy_denied: entry(
    403,
    'Policy Denied',
    "A policy rejected the request: the agent or the whole tenant is suspended, or a stream is another client's.",
  ),
  not_found: entry(404, 'Not Found', 'There is no such address, or nothing with this id in the tenant.'),
  method_not_allowed: entry(
    405,
    'Method Not Allowed',
    'The address does not take this method; `Allow` names those it takes.',
  ),
  conflict: entry(409, 'Conflict', 'The request does not suit the present state of what it is about.'),
  event_id_conflict: entry(
    409,
    'Event Id Conflict',
    'An event with this event_id and other content was published before.',
  ),
  subscription_inactive: entry(409, 'Subscription Inactive', 'The subscription is not active.'),
  cursor_expired: entry(
    410,
    'Cursor Expired',
    'The cursor of a feed is older than what is kept, or of a database that was replaced. Begin again without it.',
  ),
  idempotency_in_progress: entry(
    409,
    'Idempotency Key In Use',
    'The first request with this idempotency key has not ended yet.',
    { retryable: true },
  ),
  idempotency_key_reused: entry(
    422,
    'Idempotency Key Reused',
    'This idempotency key was used for another request.',
  ),
  payload_too_large: entry(413, 'Payload Too Large', 'The body, or the event in it, is too large.'),
  unsupported_media_type: entry(
    415,
    'Unsupported Media Type',
    'The body has a type or an encoding that the address does not take.',
  ),
  request_timeout: entry(408, 'Request Timeout', 'The request did not arrive in time.', { retryable: true }),
  header_fields_too_large: entry(431, 'Request Header Fields Too Large', 'The header fields are too large.'),
  rate_limited: entry(
    429,
    'Too Many Requests',
    'Request frequency or quota exceeded; `Retry-After` says for how long.',
    { retryable: true },
  ),
  server_error: entry(
    500,
    'Internal Server Error',
    'A failure of our own, which is in our log under the request id.',
    { retryable: true },
  ),
  temporarily_unavailable: entry(
    503,
    'Service Unavailable',
    'Something that the request needs is down; `Retry-After` says when to try again.',
    { retryable: true },
  ),
  invalid_dpop_proof: entry(
    400,
    'Invalid DPoP Proof',
    'Proof of possession missing, malformed, expired or not bound to the token or request (RFC 9449).',
    { statusAtResource: 401 },
  ),
  use_dpop_nonce: entry(
    400,
    'DPoP Nonce Required',
    'Retry with a proof that holds the nonce of the `DPoP-Nonce` response header.',
    { retryable: true, statusAtResource: 401 },
  ),
  invalid_target: entry(
    400,
    'Bad Request',
    'The requested audience is not one that the token may be for (RFC 8707).',
  ),
  delegation_expired: entry(400, 'Delegation Expired', 'Delegation grant is past its expires_at.'),
  invalid_redirect_uri: entry(400, 'Bad Request', 'Redirect URI not registered or not an exact match.', {
    reserved: true,
  }),
  pkce_required: entry(400, 'Bad Request', 'A public client request lacks PKCE.', { reserved: true }),
  consent_required: entry(403, 'Forbidden', 'Consent is required by the user or tenant policy.', {
    reserved: true,
  }),
  wallet_not_provisioned: entry(409, 'Conflict', 'No wallet for the subject or chain.', { reserved: true }),
  wallet_frozen: entry(403, 'Forbidden', 'Signing blocked by a freeze.', { reserved: true }),
  budget_exceeded: entry(403, 'Forbidden', 'Wallet or delegation spend control rejected the action.', {
    reserved: true,
  }),
  recipient_not_allowed: entry(403, 'Forbidden', 'Recipient allowlist rejected the transaction.', {
    reserved: true,
  }),
  contract_not_allowed: entry(403, 'Forbidden', 'Contract allowlist rejected the transaction.', {
    reserved: true,
  }),
  billing_feature_disabled: entry(
    403,
    'Forbidden',
    'Feature unavailable for the plan, tenant or deployment.',
    { reserved: true },
  ),
  billing_suspended: entry(402, 'Payment Required', 'Billing state blocks billable operations.', {
    reserved: true,
  }),
} satisfies Record<string, Entry>;

/** A stable, machine-readable error code: `error` in every error body. */
export type ErrorCode = keyof typeof ERRORS;

/**
 * The status of a code.
 * @param atResource true when the request presents an access token; false when it asks for a token
 */
export function statusOf(code: ErrorCode, atResource: boolean): number {
  const { status, statusAtResource = status } = ERRORS[code];
  return atResource ? statusAtResource : status;
}

export type PublishedError = {
  readonly code: ErrorCode;
  /** The HTTP statuses of the code, that of the token endpoint first. */
  readonly statuses: readonly number[];
  readonly title: string;
  readonly meaning: string;
  readonly retryable: boolean;
  /** True when the specification names the code, but nothing in this service causes it. */
  readonly reserved: boolean;
};

/** All codes; the reserved codes come last. */
export function publishErrors(): PublishedError[] {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return codes
    .map((code) => {
      const { title, meaning, retryable = false, reserved = false } = ERRORS[code];
      const statuses = [...new Set([statusOf(code, false), statusOf(code, true)])];
      return { code, statuses, title, meaning, retryable, reserved };
    })
    .sort((left, right) => Number(left.reserved) - Number(right.reserved));
}
