// The text that the old and the new key sign when an agent rotates its own key. The first line names the purpose, so
// the signatures are not valid for a challenge or a registration.

export type RotationProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly oldFingerprint: string;
  readonly newFingerprint: string;
};

/**
 * Builds the bytes that both keys sign: five lines in UTF-8, joined by line feeds, with no line feed at the end. The
 * text contains both fingerprints, so the signatures are not valid for another pair of keys.
 * @param fields two UUIDs in lower case, and the fingerprints (lower-case hex) of the old and the new key
 */
export function buildRotationProofPayload({
  tenantId,
  agentId,
  oldFingerprint,
  newFingerprint,
}: RotationProofFields): Uint8Array {
  const lines = ['SERVICE-KEY-ROTATION-V1', tenantId, agentId, oldFingerprint, newFingerprint];
  return new TextEncoder().encode(lines.join('\n'));
}
