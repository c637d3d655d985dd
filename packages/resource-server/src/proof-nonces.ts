// Nonces for DPoP proofs (RFC 9449 §9): a MAC over a time step, so that processes with one secret need no store.
import { base64url } from 'jose';

/** Seconds for which one nonce is issued. After that it is accepted for the same time again. */
const STEP = 120;

/** The least length of a secret in bytes. */
const LEAST_SECRET = 32;

/** Issues and recognises nonces. */
export type ProofNonces = {
  /** @param now milliseconds since 1970 */
  issue(now: number): Promise<string>;
  isRecent(nonce: string, now: number): Promise<boolean>;
};

/**
 * Creates nonces that only this server, and others with the same secret, can make. A client must then have asked here
 * lately before it can make a proof.
 * @param secret 32 random bytes or more @throws TypeError for a shorter secret
 */
export function createProofNonces(secret: Uint8Array): ProofNonces {
  if (secret.length < LEAST_SECRET)
    throw new TypeError(`A secret of nonces has ${LEAST_SECRET} bytes or more.`);
  const bytes = Uint8Array.from(secret);
  const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ]);
  const stepOf = (now: number) => Math.floor(now / 1000 / STEP);
  const textOf = (step: number) => new TextEncoder().encode(`countersign-resource-nonce:${step}`);

  return {
    issue: async (now) => {
      const mac = await crypto.subtle.sign('HMAC', await key, textOf(stepOf(now)));
      return base64url.encode(new Uint8Array(mac));
    },
    isRecent: async (nonce, now) => {
      const mac = decode(nonce);
      if (mac === undefined) return false;
      for (const step of [stepOf(now), stepOf(now) - 1])
        if (await crypto.subtle.verify('HMAC', await key, mac, textOf(step))) return true;
      return false;
    },
  };
}

function decode(nonce: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(base64url.decode(nonce));
  } catch {
    return undefined;
  }
}
