// The texts that an agent's key signs and the service verifies, byte for byte. The first line of each names its purpose
// and version, so no signature is valid for another. Pure.

/** `timestamp` and `expiresAt` are whole Unix seconds. The other fields equal those of the challenge response. */
export type ChallengePayloadFields = {
  readonly nonce: string;
  readonly timestamp: number;
  readonly expiresAt: number;
  readonly audience: string;
  readonly clientId: string;
  readonly scopeHash: string;
  readonly keyFingerprint: string;
  readonly algorithm: string;
};

/** The members of a challenge response from which the text is built. Source: Specification, "Challenge". */
export type ChallengeResponse = {
  readonly nonce: string;
  readonly timestamp: string;
  readonly expires_at: string;
  readonly audience: string;
  readonly client_id: string;
  readonly scope_hash: string;
  readonly key_fingerprint: string;
  readonly algorithm: string;
};

/** Two UUIDs in lower case, and the fingerprint (lower-case hex) of the key that is being registered. */
export type KeyProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly fingerprint: string;
};

/** Two UUIDs in lower case, and the fingerprints (lower-case hex) of the old and the new key. */
export type RotationProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly oldFingerprint: string;
  readonly newFingerprint: string;
};

/** Backslash and the control characters U+0000–U+001F and U+007F. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escaping them is the purpose
const ESCAPED = /[\\\u0000-\u001f\u007f]/g;

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/**
 * Builds the nine lines in UTF-8, joined by line feeds, with no line feed at the end.
 * Source: Specification, "Challenge-response procedure".
 * @throws RangeError when a time is not a whole number of seconds
 */
export function buildChallengePayload(fields: ChallengePayloadFields): Uint8Array {
  return joinLines([
    'SERVICE-CHALLENGE-V1',
    `nonce:${escapeField(fields.nonce)}`,
    `timestamp:${formatSeconds(fields.timestamp)}`,
    `expires_at:${formatSeconds(fields.expiresAt)}`,
    `audience:${escapeField(fields.audience)}`,
    `client_id:${escapeField(fields.clientId)}`,
    `scope_hash:${escapeField(fields.scopeHash)}`,
    `key_fingerprint:${escapeField(fields.keyFingerprint)}`,
    `algorithm:${escapeField(fields.algorithm)}`,
  ]);
}

/**
 * Builds the text from the response of the challenge route. Its times are ISO 8601, and fractions of a second are
 * dropped.
 * @throws RangeError when a time cannot be parsed
 */
export function buildPayloadOfResponse(response: ChallengeResponse): Uint8Array {
  return buildChallengePayload({
    nonce: response.nonce,
    timestamp: Math.floor(Date.parse(response.timestamp) / 1000),
    expiresAt: Math.floor(Date.parse(response.expires_at) / 1000),
    audience: response.audience,
    clientId: response.client_id,
    scopeHash: response.scope_hash,
    keyFingerprint: response.key_fingerprint,
    algorithm: response.algorithm,
  });
}

/** Builds the four lines that prove, at registration, that the owner of a key holds its private half. */
export function buildKeyProofPayload({ tenantId, agentId, fingerprint }: KeyProofFields): Uint8Array {
  return joinLines(['SERVICE-KEY-PROOF-V1', tenantId, agentId, fingerprint]);
}

/**
 * Builds the five lines that the old and the new key sign when an agent rotates its own key. They contain both
 * fingerprints, so the signatures are not valid for another pair of keys.
 */
export function buildRotationProofPayload(fields: RotationProofFields): Uint8Array {
  const { tenantId, agentId, oldFingerprint, newFingerprint } = fields;
  return joinLines(['SERVICE-KEY-ROTATION-V1', tenantId, agentId, oldFingerprint, newFingerprint]);
}

/**
 * Escapes a field so that it contains no line break. Backslash, line feed, carriage return and tab become `\\`, `\n`,
 * `\r`, `\t`; other control characters become `\u00xx` with lower-case hex digits.
 */
export function escapeField(text: string): string {
  return text.replace(
    ESCAPED,
    (character) => SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function joinLines(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.join('\n'));
}

function formatSeconds(seconds: number): string {
  if (!Number.isSafeInteger(seconds))
    throw new RangeError('a challenge time is a whole number of Unix seconds');
  return String(seconds);
}
