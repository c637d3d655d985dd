// The text that a key signs at registration, to prove that its owner holds the private half. The first line names the
// purpose, so the signature is not valid for a challenge.

export type KeyProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly fingerprint: string;
};

/**
 * Builds the bytes to sign: four lines in UTF-8, joined by line feeds, with no line feed at the end.
 * @param fields two UUIDs in lower case, and the fingerprint (lower-case hex) of the key that is being registered
 */
export function buildKeyProofPayload({ tenantId, agentId, fingerprint }: KeyProofFields): Uint8Array {
  return new TextEncoder().encode(['SERVICE-KEY-PROOF-V1', tenantId, agentId, fingerprint].join('\n'));
}
