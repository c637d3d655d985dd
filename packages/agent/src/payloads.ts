// The texts that an agent's key signs, byte for byte as the specification says. The first line names the purpose.

import { encodeText } from './bytes.ts';

/** The answer of the challenge route. */
export type Challenge = {
  readonly challenge_id: string;
  readonly nonce: string;
  readonly timestamp: string;
  readonly expires_at: string;
  readonly audience: string;
  readonly client_id: string;
  readonly scope_hash: string;
  readonly key_fingerprint: string;
  readonly algorithm: string;
};

const MEMBERS: readonly (keyof Challenge)[] = [
  ...(['challenge_id', 'nonce', 'timestamp', 'expires_at', 'audience'] as const),
  ...(['client_id', 'scope_hash', 'key_fingerprint', 'algorithm'] as const),
];

export function isChallenge(answer: Readonly<Record<string, unknown>>): answer is Challenge {
  return MEMBERS.every((name) => typeof answer[name] === 'string');
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Nine lines. Specification: Challenge-response procedure. */
export function challengePayload(challenge: Challenge): Uint8Array {
  const seconds = (time: string) => String(Math.floor(Date.parse(time) / 1000));
  return join([
    'SERVICE-CHALLENGE-V1',
    `nonce:${escapeField(challenge.nonce)}`,
    `timestamp:${seconds(challenge.timestamp)}`,
    `expires_at:${seconds(challenge.expires_at)}`,
    `audience:${escapeField(challenge.audience)}`,
    `client_id:${escapeField(challenge.client_id)}`,
    `scope_hash:${escapeField(challenge.scope_hash)}`,
    `key_fingerprint:${escapeField(challenge.key_fingerprint)}`,
    `algorithm:${escapeField(challenge.algorithm)}`,
  ]);
}

/** Four lines: the proof of a key that enrolls. */
export function enrollmentPayload(tenantId: string, agentId: string, fingerprint: string): Uint8Array {
  return join(['SERVICE-KEY-PROOF-V1', tenantId, agentId, fingerprint]);
}

/** Five lines, which the old and the new key sign. */
export function rotationPayload(
  tenantId: string,
  agentId: string,
  oldFingerprint: string,
  newFingerprint: string,
): Uint8Array {
  return join(['SERVICE-KEY-ROTATION-V1', tenantId, agentId, oldFingerprint, newFingerprint]);
}

function join(lines: readonly string[]): Uint8Array {
  return encodeText(lines.join('\n'));
}

function escapeField(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escaping them is the purpose
  return text.replace(/[\\\u0000-\u001f\u007f]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return SHORT_ESCAPES[character] ?? `\\u${code}`;
  });
}
