// Names in token requests: the grant of assertions, and the types of tokens of an exchange.

/** `grant_type` of an assertion (RFC 7523 §2.1). */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';

/** The supported token type identifiers (RFC 8693 §3). */
export const TOKEN_TYPES = {
  accessToken: `${TOKEN_TYPE}access_token`,
  idToken: `${TOKEN_TYPE}id_token`,
  jwt: `${TOKEN_TYPE}jwt`,
} as const;

export const SUBJECT_TYPES: readonly string[] = Object.values(TOKEN_TYPES);
/** Types of actor tokens. ID tokens are left out, because agents have none. */
export const ACTOR_TYPES: readonly string[] = [TOKEN_TYPES.accessToken, TOKEN_TYPES.jwt];

/** `issued_token_type` of every answer (RFC 8693 §2.2.1). */
export const ISSUED_TOKEN_TYPE = TOKEN_TYPES.accessToken;
