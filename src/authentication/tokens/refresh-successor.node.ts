// Derives the text of a refresh token's successor. Texts are not stored, so the text is derived again for a repeated
// request.
import { createHmac, hkdfSync } from 'node:crypto';
import { hashesEqual, hashSecret } from '../../platform/crypto/opaque-secret.node.ts';

/** The `info` of the key derivation. Each use of a master key has a different one (RFC 5869 §3.2). */
const PURPOSE = 'countersign:refresh-successor:v1';

/**
 * The text of a successor is an HMAC-SHA256 over the successor's id and the text of the previous refresh token. The id
 * makes each successor different. Only the client has the previous text, so the database and the master key together
 * are not enough to compute a live token.
 * @param masterKeys the first key derives new successors; all keys are tried to derive an earlier successor again
 */
export function createSuccessorDeriver({
  masterKeys,
}: {
  masterKeys: readonly { readonly key: Uint8Array }[];
}) {
  const keys = masterKeys.map(({ key }) =>
    Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), PURPOSE, 32)),
  );
  const derive = (key: Buffer, before: string, id: string) =>
    createHmac('sha256', key).update(`${id}\n${before}`, 'utf8').digest('base64url');

  return {
    /** Derives the successor with this id (256 bits, base64url). `before` is the text of the previous token. */
    make: (before: string, id: string): string => {
      const [key] = keys;
      if (key === undefined) throw new Error('There is no master key to make a refresh token with.');
      return derive(key, before, id);
    },

    /**
     * Derives an existing successor's text again; undefined when the master key that derived it was removed.
     * @param hash of the successor, as it is stored
     */
    remake: (before: string, { id, hash }: { id: string; hash: Uint8Array }): string | undefined =>
      keys.map((key) => derive(key, before, id)).find((text) => hashesEqual(hashSecret(text), hash)),
  };
}

export type SuccessorDeriver = ReturnType<typeof createSuccessorDeriver>;
