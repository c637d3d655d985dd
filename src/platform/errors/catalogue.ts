// The one table of error codes: the only place that knows a code's HTTP status and title. It must never hold a text about one request.

type Entry = {
  /** HTTP status of the answer. */
  readonly status: number;
  /** Short, fixed summary of the kind of problem (RFC 7807 `title`). */
  readonly title: string;
  /** Named by the specification, but no route of this service can cause it yet. */
  readonly reserved?: true;
};

/** Every code of the specification ("Errors") and those that this service adds; RFC 6749 §5.2, RFC 6750 §3.1, RFC 9449 §5. */
export const ERRORS = {
  invalid_request: { status: 400, title: 'Bad Request' },
  invalid_token: { status: 401, title: 'Unauthorized' },
  token_expired: { status: 401, title: 'Unauthorized' },
  token_revoked: { status: 401, title: 'Unauthorized' },
  insufficient_scope: { status: 403, title: 'Forbidden' },
  invalid_client: { status: 401, title: 'Unauthorized' },
  invalid_grant: { status: 400, title: 'Invalid Grant' },
  unauthorized_client: { status: 400, title: 'Bad Request' },
  unsupported_grant_type: { status: 400, title: 'Bad Request' },
  invalid_scope: { status: 400, title: 'Bad Request' },
  challenge_expired: { status: 400, title: 'Challenge Expired' },
  challenge_used: { status: 400, title: 'Challenge Used' },
  key_revoked: { status: 403, title: 'Key Revoked' },
  key_not_found: { status: 404, title: 'Key Not Found' },
  key_exists: { status: 409, title: 'Key Exists' },
  invalid_signature: { status: 401, title: 'Invalid Signature' },
  policy_denied: { status: 403, title: 'Policy Denied' },
  not_found: { status: 404, title: 'Not Found' },
  method_not_allowed: { status: 405, title: 'Method Not Allowed' },
  conflict: { status: 409, title: 'Conflict' },
  event_id_conflict: { status: 409, title: 'Event Id Conflict' },
  subscription_inactive: { status: 409, title: 'Subscription Inactive' },
  cursor_expired: { status: 410, title: 'Cursor Expired' },
  idempotency_in_progress: { status: 409, title: 'Idempotency Key In Use' },
  idempotency_key_reused: { status: 422, title: 'Idempotency Key Reused' },
  payload_too_large: { status: 413, title: 'Payload Too Large' },
  unsupported_media_type: { status: 415, title: 'Unsupported Media Type' },
  request_timeout: { status: 408, title: 'Request Timeout' },
  header_fields_too_large: { status: 431, title: 'Request Header Fields Too Large' },
  rate_limited: { status: 429, title: 'Too Many Requests' },
  server_error: { status: 500, title: 'Internal Server Error' },
  temporarily_unavailable: { status: 503, title: 'Service Unavailable' },
  invalid_dpop_proof: { status: 400, title: 'Invalid DPoP Proof' },
  use_dpop_nonce: { status: 400, title: 'DPoP Nonce Required' },
  invalid_target: { status: 400, title: 'Bad Request' },
  delegation_expired: { status: 400, title: 'Delegation Expired' },
  invalid_redirect_uri: { status: 400, title: 'Bad Request', reserved: true },
  pkce_required: { status: 400, title: 'Bad Request', reserved: true },
  consent_required: { status: 403, title: 'Forbidden', reserved: true },
  wallet_not_provisioned: { status: 409, title: 'Conflict', reserved: true },
  wallet_frozen: { status: 403, title: 'Forbidden', reserved: true },
  budget_exceeded: { status: 403, title: 'Forbidden', reserved: true },
  recipient_not_allowed: { status: 403, title: 'Forbidden', reserved: true },
  contract_not_allowed: { status: 403, title: 'Forbidden', reserved: true },
  billing_feature_disabled: { status: 403, title: 'Forbidden', reserved: true },
  billing_suspended: { status: 402, title: 'Payment Required', reserved: true },
} as const satisfies Record<string, Entry>;

/** A stable, machine-readable error code (`error` in every error body). */
export type ErrorCode = keyof typeof ERRORS;

/** The catalogue row of a code. */
export function describeError(code: ErrorCode): Entry {
  return ERRORS[code];
}
