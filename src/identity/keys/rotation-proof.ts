// The text that both keys of a rotation sign when an agent rotates its key itself. Its first line keeps it from being taken for a
// challenge or for the proof of a registration.

export type RotationProofFields = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly oldFingerprint: string;
  readonly newFingerprint: string;
};

/**
 * The exact bytes that the old and the new key sign: five lines joined by line feeds, in UTF-8, with nothing after the last. Each key
 * signs both fingerprints, so neither signature says anything about another pair of keys.
 * @param fields two UUIDs in lowercase, and the lowercase hex fingerprints of the key that goes and the key that comes.
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
