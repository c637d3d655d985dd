// Makes the text of a refresh token's successor so that it can be made again for a retry, although no token's text is stored.
import { createHmac, hkdfSync } from 'node:crypto';
import { hashesEqual, hashSecret } from '../../platform/crypto/opaque-secret.node.ts';

/** Separates this use of a master key from every other (RFC 5869 §3.2). */
const PURPOSE = 'countersign:refresh-successor:v1';

/**
 * A successor is HMAC-SHA256 over its own id and the text before it. The id makes it another one each time. The text, which only the
 * client has, makes sure that the tables and the master key together are not enough to compute a living token.
 * @param masterKeys the first one makes successors; those of all find one again
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
    /** The text (256 bits, base64url) of the token with this id that follows `before`. */
    make: (before: string, id: string): string => {
      const [key] = keys;
      if (key === undefined) throw new Error('There is no master key to make a refresh token with.');
      return derive(key, before, id);
    },

    /** The same text again; undefined when the master key that made it is gone. @param hash of the successor, as it is stored */
    remake: (before: string, { id, hash }: { id: string; hash: Uint8Array }): string | undefined =>
      keys.map((key) => derive(key, before, id)).find((text) => hashesEqual(hashSecret(text), hash)),
  };
}

export type SuccessorDeriver = ReturnType<typeof createSuccessorDeriver>;
