// The text that both keys of a rotation sign when an agent rotates its own key. Its first line names this purpose, so
// that the signatures are not valid for a challenge or a registration.

export type RotationProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly oldFingerprint: string;
  readonly newFingerprint: string;
};

/**
 * The exact bytes that the old and the new key sign: five lines joined by line feeds, in UTF-8, with nothing after the
 * last. Each key signs both fingerprints, so neither signature is valid for another pair of keys.
 * @param fields two UUIDs in lowercase, and the lowercase hex fingerprints of the old and the new key
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
