// The grant of assertions, by its name in requests.

/** `grant_type` of an assertion (RFC 7523 §2.1). */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
