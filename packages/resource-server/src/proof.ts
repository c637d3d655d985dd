// Verifies the DPoP proof of a request (RFC 9449 §4.3, §7.1): it is by the token's key, for this request, and used
// once.
import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { isObject, isText } from './claims.ts';
import { sha256 } from './digest.ts';
import type { ProofNonces } from './proof-nonces.ts';
import { normalizeTarget } from './proof-target.ts';
import { Refusal } from './refusal.ts';
import type { ReplayStore } from './replay-store.ts';

/** Algorithms of proofs: those that the service accepts at its own routes. */
export const PROOF_ALGORITHMS = ['ES256', 'Ed25519', 'EdDSA', 'PS256'] as const;

/** Seconds by which `iat` may be in the past or in the future, both inclusive: those of the service's own routes. */
const WINDOW = { past: 60, future: 10 } as const;

/** Characters of the longest proof, which has an RSA key of 4,096 bits and a nonce. */
const LONGEST_PROOF = 4_096;
const LONGEST_JTI = 256;

/** Characters of `n` and `e` of the largest RSA key; a larger one costs too much time. */
const LONGEST_RSA = { n: 683, e: 6 } as const;

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** The request that a proof must be for. */
export type ProvenRequest = {
  /** All values of the header `DPoP`. */
  readonly proofs: readonly string[];
  readonly method: string;
  /** Address of the request as the client has used it. */
  readonly url: string;
  readonly token: string;
  /** `cnf.jkt` of the token. */
  readonly jkt: string;
  /** Milliseconds since 1970. */
  readonly now: number;
};

type Proof = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly jwk: JWK;
  readonly claims: Readonly<Record<string, unknown>>;
};

type ProofCheck = (proof: Proof, request: ProvenRequest) => Promise<string | undefined> | string | undefined;

/** What a proof must say, one function a rule. Its form, its key and its signature are verified before. */
export const PROOF_CHECKS: Readonly<Record<string, ProofCheck>> = {
  typ: ({ header }) =>
    header.typ === 'dpop+jwt' ? undefined : 'The typ of the DPoP proof must be dpop+jwt.',
  htm: ({ claims }, { method }) =>
    claims.htm === method ? undefined : 'The htm of the proof is not the method of the request.',
  htu: ({ claims: { htu } }, { url }) => {
    const target = normalizeTarget(url);
    const matches = isText(htu) && target !== null && normalizeTarget(htu) === target;
    const meant = target === null ? '' : `, ${target}`;
    return matches ? undefined : `The htu of the proof is not the address of the request${meant}.`;
  },
  'iat too old': ({ claims: { iat } }, { now }) =>
    typeof iat === 'number' && now / 1000 - iat <= WINDOW.past ? undefined : tellTime('too old', now),
  'iat in the future': ({ claims: { iat } }, { now }) =>
    Number(iat) - now / 1000 > WINDOW.future ? tellTime('in the future', now) : undefined,
  ath: async ({ claims }, { token }) =>
    claims.ath === (await sha256(token))
      ? undefined
      : 'The ath of the proof is not the hash of the access token.',
  jkt: async ({ jwk }, { jkt }) =>
    (await calculateJwkThumbprint(jwk)) === jkt
      ? undefined
      : 'The access token is bound to another key than that of the proof.',
  jti: ({ claims: { jti } }) =>
    isText(jti) && jti.length <= LONGEST_JTI
      ? undefined
      : `The jti of the proof is missing, or longer than ${LONGEST_JTI} characters.`,
};

/**
 * Verifies the proof and records its use.
 * @param checks replaced in tests
 * @throws Refusal `invalid_dpop_proof`, `use_dpop_nonce`; `temporarily_unavailable` when the store fails
 */
export async function verifyProof(
  request: ProvenRequest,
  { replays, nonces }: { replays: ReplayStore; nonces: ProofNonces | undefined },
  checks: typeof PROOF_CHECKS = PROOF_CHECKS,
): Promise<void> {
  const [text, ...others] = request.proofs;
  if (text === undefined) throw refused('A DPoP proof is required in the DPoP header.');
  if (others.length > 0) throw refused('The DPoP header must be sent once.');
  const proof = await readProof(text);
  for (const check of Object.values(checks)) {
    const fault = await check(proof, request);
    if (fault !== undefined) throw refused(fault);
  }
  const { nonce } = proof.claims;
  if (nonces !== undefined && !(isText(nonce) && (await nonces.isRecent(nonce, request.now))))
    throw new Refusal('use_dpop_nonce', 'The proof needs the nonce of the DPoP-Nonce header of this answer.');
  await recordUse(proof, request, replays);
}

/** Reads the proof and verifies its signature by its own key. */
async function readProof(text: string): Promise<Proof> {
  if (text.length > LONGEST_PROOF)
    throw refused(`The DPoP proof is longer than ${LONGEST_PROOF} characters.`);
  let header: Readonly<Record<string, unknown>>;
  try {
    header = decodeProtectedHeader(text);
  } catch {
    throw refused('The DPoP proof is not a JWT in compact form.');
  }
  const { alg, jwk, crit } = header;
  if (crit !== undefined) throw refused('The DPoP proof has critical header parameters; none is known.');
  const algorithm = PROOF_ALGORITHMS.find((known) => known === alg);
  if (algorithm === undefined)
    throw refused(`The alg of the DPoP proof must be one of ${PROOF_ALGORITHMS.join(', ')}.`);
  const key = readKey(jwk);
  try {
    const { payload } = await compactVerify(text, await importJWK(key, algorithm), {
      algorithms: [algorithm],
    });
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (!isObject(claims)) throw new Error('the payload is not an object');
    return { header, jwk: key, claims };
  } catch {
    throw refused('The signature of the DPoP proof is not by the key in its header.');
  }
}

function readKey(jwk: unknown): JWK {
  if (!isObject(jwk)) throw refused('The proof has no jwk in its header.');
  if (PRIVATE_MEMBERS.some((member) => Object.hasOwn(jwk, member)))
    throw refused('The jwk of the proof has private members; it must hold the public key only.');
  const { kty, crv, x, y, n, e } = jwk;
  if (kty === 'RSA') {
    if (!isText(n) || !isText(e) || n.length > LONGEST_RSA.n || e.length > LONGEST_RSA.e)
      throw refused('The RSA key of the proof is malformed or too large.');
    return { kty, n, e };
  }
  if (!isText(kty) || !isText(crv) || !isText(x)) throw refused('The jwk of the proof is malformed.');
  return isText(y) ? { kty, crv, x, y } : { kty, crv, x };
}

async function recordUse({ claims }: Proof, { jkt }: ProvenRequest, replays: ReplayStore): Promise<void> {
  // A `jti` is unique for its key alone: another client may have drawn the same.
  const key = await sha256(`${jkt} ${String(claims.jti)}`);
  // Counted from `iat`, because a proof with a future `iat` is accepted for longer.
  const expiresAt = Number(claims.iat) + WINDOW.past + WINDOW.future;
  let isFirst: boolean;
  try {
    isFirst = await replays.use(key, expiresAt, jkt);
  } catch (cause) {
    throw new Refusal('temporarily_unavailable', 'Used proofs cannot be recorded at the moment.', { cause });
  }
  if (!isFirst) throw refused('The DPoP proof was used before; each request needs a proof of its own.');
}

function tellTime(fault: string, now: number): string {
  return (
    `The iat of the proof is ${fault}: the time of the server is ${Math.floor(now / 1000)}, ` +
    `and a proof may be ${WINDOW.past} s old and ${WINDOW.future} s ahead at most.`
  );
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_dpop_proof', detail);
}
