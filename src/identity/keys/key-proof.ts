// The text that a key signs at registration to prove that its owner holds the private half. Its first line names this
// purpose, so that the signature is not valid for a challenge.

export type KeyProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly fingerprint: string;
};

/**
 * The exact bytes to sign: four lines joined by line feeds, in UTF-8, with nothing after the last.
 * @param fields two UUIDs in lowercase, and the lowercase hex fingerprint of the key that is being registered.
 */
export function buildKeyProofPayload({ tenantId, agentId, fingerprint }: KeyProofFields): Uint8Array {
  return new TextEncoder().encode(['SERVICE-KEY-PROOF-V1', tenantId, agentId, fingerprint].join('\n'));
}
