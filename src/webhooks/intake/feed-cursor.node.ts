// Cursors of the feed: positions that are encrypted, so that no tenant sees from the numbers of transactions how busy
// the others are.
// docs/decisions/0012-event-feed.md
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { decodeBase64, encodeBase64Url } from '../../platform/crypto/base64.ts';
import { decodePosition, encodePosition, FEED_CURSOR, type FeedPosition } from './feed-cursor.ts';

/** The `info` of the key derivation. Each use of a master key has a different one (RFC 5869 §3.2). */
const PURPOSE = 'countersign:feed-cursor:v1';

const CIPHER = 'aes-256-ctr';

/** Bytes of the MAC at the beginning, which is the initialization vector too. */
const MAC_LENGTH = 16;

/** A cursor has a multiple of so many bytes, so that its length says little of how many transactions are open. */
const STEP = 48;

/** Ends the position; zero bytes follow it. */
const MARK = 0x80;

type Keys = { readonly mac: Buffer; readonly cipher: Buffer };

/**
 * Seals and opens cursors. The initialization vector is a MAC of owner and position (the construction of SIV,
 * RFC 5297), so one position gives an owner one cursor, and a changed one or another owner's is refused. An owner is
 * a tenant's id, with a word for each other order in which it reads.
 * @param masterKeys the first one seals; cursors of all of them are opened
 */
export function createFeedCursors({ masterKeys }: { masterKeys: readonly { readonly key: Uint8Array }[] }) {
  const keys = masterKeys.map(({ key }) => derive(key));
  return {
    /** @returns text of base64url, 64 characters or a multiple of that */
    seal(owner: string, position: FeedPosition): string {
      const [key] = keys;
      if (key === undefined) throw new Error('There is no master key to seal a cursor with.');
      const padded = pad(encodePosition(position));
      const mac = macOf(key, owner, padded);
      const cipher = createCipheriv(CIPHER, key.cipher, mac);
      return encodeBase64Url(Buffer.concat([mac, cipher.update(padded), cipher.final()]));
    },

    /** @returns undefined for a text that `seal` did not make for this owner */
    open(owner: string, cursor: string): FeedPosition | undefined {
      const bytes = FEED_CURSOR.test(cursor) ? decodeBase64(cursor) : null;
      if (bytes === null || bytes.length % STEP !== 0) return undefined;
      const mac = bytes.subarray(0, MAC_LENGTH);
      for (const key of keys) {
        const decipher = createDecipheriv(CIPHER, key.cipher, mac);
        const padded = Buffer.concat([decipher.update(bytes.subarray(MAC_LENGTH)), decipher.final()]);
        if (timingSafeEqual(mac, macOf(key, owner, padded)))
          return decodePosition(padded.subarray(0, padded.lastIndexOf(MARK)));
      }
      return undefined;
    },
  };
}

export type FeedCursors = ReturnType<typeof createFeedCursors>;

function derive(masterKey: Uint8Array): Keys {
  const bytes = Buffer.from(hkdfSync('sha256', masterKey, new Uint8Array(0), PURPOSE, 64));
  return { mac: bytes.subarray(0, 32), cipher: bytes.subarray(32) };
}

function macOf({ mac }: Keys, owner: string, padded: Uint8Array): Buffer {
  const hmac = createHmac('sha256', mac).update(`${owner}\n`, 'utf8').update(padded);
  return hmac.digest().subarray(0, MAC_LENGTH);
}

function pad(position: Uint8Array): Uint8Array {
  const length = Math.ceil((MAC_LENGTH + position.length + 1) / STEP) * STEP - MAC_LENGTH;
  const padded = new Uint8Array(length);
  padded.set(position);
  padded[position.length] = MARK;
  return padded;
}
