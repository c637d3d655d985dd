// Why a request is refused, and the answer that says so: status, challenge and problem body (RFC 6750, RFC 9449, RFC
// 9728).

const STATUSES = {
  invalid_request: 400,
  invalid_token: 401,
  token_expired: 401,
  token_revoked: 401,
  invalid_dpop_proof: 401,
  use_dpop_nonce: 401,
  insufficient_scope: 403,
  temporarily_unavailable: 503,
} as const;

const PHRASES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  503: 'Service Unavailable',
} as const;

/** The codes of the service's own routes (docs/errors.md), so that a client needs to know one list. */
export type RefusalCode = keyof typeof STATUSES;

/** How the request presents its token; `none` when it has no token that could be read. */
export type Scheme = 'bearer' | 'dpop' | 'none';

/** Seconds after which a client may repeat a request that nobody could judge. */
const RETRY_AFTER = '1';

/**
 * A refused request. `detail` repeats nothing of the request, because the challenge contains it as a quoted string. The
 * cause of `temporarily_unavailable` is for the log of the server; the answer does not contain it.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly detail: string;
  /** Scopes that the request needs, for `insufficient_scope`. */
  readonly scope: string | undefined;

  constructor(
    code: RefusalCode,
    detail: string,
    { scope, cause }: { scope?: string | undefined; cause?: unknown } = {},
  ) {
    super(`${code}: ${detail}`, { cause });
    this.code = code;
    this.detail = detail;
    this.scope = scope;
  }

  get status(): 400 | 401 | 403 | 503 {
    return STATUSES[this.code];
  }
}

/** An answer without a framework. */
export type GuardAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** What the challenges of a guard say. */
export type ChallengeFacts = {
  /** Address of the protected resource metadata (RFC 9728 §5.1). */
  readonly metadataUrl: string;
  readonly proofAlgorithms: readonly string[];
  /** Only tokens that are bound to a key are accepted. */
  readonly requiresProof: boolean;
  /** Scopes of the route, named where the request has no token. */
  readonly scope?: string | undefined;
};

/** Makes the answer to a refused request. @param nonce for the header `DPoP-Nonce` (RFC 9449 §8.2) */
export function answerRefusal(
  refusal: Refusal,
  scheme: Scheme,
  facts: ChallengeFacts,
  nonce?: string | undefined,
): GuardAnswer {
  const { code, detail, status } = refusal;
  const challenge = status === 401 || status === 403 ? challengeOf(refusal, scheme, facts) : undefined;
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
      ...(nonce === undefined ? {} : { 'dpop-nonce': nonce }),
      ...(status === 503 ? { 'retry-after': RETRY_AFTER } : {}),
    },
    body: JSON.stringify({
      type: 'about:blank',
      title: PHRASES[status],
      status,
      detail,
      error: code,
      error_description: detail,
    }),
  };
}

function challengeOf(refusal: Refusal, scheme: Scheme, facts: ChallengeFacts): string {
  const metadata = `resource_metadata="${facts.metadataUrl}"`;
  const bearer = `Bearer ${metadata}`;
  const dpop = `DPoP algs="${facts.proofAlgorithms.join(' ')}", ${metadata}`;
  if (scheme === 'none') {
    // A request without a token gets no error code (RFC 6750 §3.1).
    const scope = facts.scope === undefined ? '' : `, scope="${facts.scope}"`;
    return facts.requiresProof ? dpop + scope : `${bearer}${scope}, ${dpop}${scope}`;
  }
  const scope = refusal.scope === undefined ? '' : `, scope="${refusal.scope}"`;
  const error = `error="${challengeCode(refusal.code)}", error_description="${refusal.detail}"`;
  return `${scheme === 'dpop' || facts.requiresProof ? dpop : bearer}, ${error}${scope}`;
}

/** The registered codes have one for all tokens that are not valid; the body has the exact one. */
function challengeCode(code: RefusalCode): string {
  return code === 'token_expired' || code === 'token_revoked' ? 'invalid_token' : code;
}
