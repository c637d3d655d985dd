// The private key of this server's application: client assertions (RFC 7523), and DPoP proofs (RFC 9449) by a second
// key, which is generated here. Both are made by the clock of the server that they are for.
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { isObject } from './claims.ts';
import { sha256 } from './digest.ts';

/** An application, and the private half of a key in its `jwks` (`private_key_jwt`). */
export type KeyCredentials = { readonly clientId: string; readonly privateKey: JWK | CryptoKey };

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Seconds until an assertion ends. */
const ASSERTION_SECONDS = 60;

/** Milliseconds by which a server's time may move unnoticed: `Date` has whole seconds, and an answer takes time. */
const UNNOTICED_MS = 5_000;

/** The `alg` of a key: by the name of a CryptoKey's algorithm, and by the `kty` of a JWK that does not say it. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  ECDSA: 'ES256',
  EC: 'ES256',
  Ed25519: 'EdDSA',
  OKP: 'EdDSA',
  'RSA-PSS': 'PS256',
  RSA: 'PS256',
  'RSASSA-PKCS1-v1_5': 'RS256',
};

/** @param now milliseconds since 1970 @throws TypeError for what is no private key; it repeats nothing of it */
export function createClientKey({ clientId, privateKey }: KeyCredentials, issuer: string, now: () => number) {
  const header = { typ: 'client-authentication+jwt', ...describeKey(privateKey) };
  /** What the answers of a server said. `ahead`: milliseconds by which its clock is ahead of this one. */
  const servers = new Map<string, { readonly nonce: string | undefined; readonly ahead: number }>();
  let proofKey: ReturnType<typeof createProofKey> | undefined;

  const secondsAt = (origin: string) => Math.floor((now() + (servers.get(origin)?.ahead ?? 0)) / 1000);

  /** Remembers nonce and time of an answer. @returns whether it refuses what was signed without knowing them */
  function learn({ status, headers }: Response, origin: string): boolean {
    const known = servers.get(origin) ?? { nonce: undefined, ahead: 0 };
    const nonce = headers.get('dpop-nonce') ?? known.nonce;
    // A cache has kept an answer with an age.
    const difference = headers.has('age') ? Number.NaN : Date.parse(headers.get('date') ?? '') - now();
    const ahead = Number.isNaN(difference) ? known.ahead : difference;
    servers.set(origin, { nonce, ahead });
    const isNew = nonce !== known.nonce || Math.abs(ahead - known.ahead) > UNNOTICED_MS;
    return isNew && (status === 400 || status === 401);
  }

  return {
    /** Makes the members of a form by which the issuer authenticates the application (RFC 7523 §2.2, §3). */
    assert: async (): Promise<Readonly<Record<string, string>>> => {
      const iat = secondsAt(new URL(issuer).origin);
      const claims = { iss: clientId, sub: clientId, aud: issuer, jti: crypto.randomUUID(), iat };
      const assertion = await new SignJWT({ ...claims, exp: iat + ASSERTION_SECONDS })
        .setProtectedHeader(header)
        .sign(privateKey);
      return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
    },

    /** Makes the `DPoP` header of a request (RFC 9449 §4.2). @param token the token that is sent with it */
    prove: async (method: string, url: string, token?: string): Promise<string> => {
      proofKey ??= createProofKey();
      const { privateKey, jwk } = await proofKey;
      const { origin, pathname } = new URL(url);
      const ath = token === undefined ? undefined : await sha256(token);
      const iat = secondsAt(origin);
      const { nonce } = servers.get(origin) ?? {};
      return new SignJWT({ jti: crypto.randomUUID(), htm: method, htu: origin + pathname, iat, ath, nonce })
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
        .sign(privateKey);
    },

    /**
     * @param send signs a request and sends it
     * @returns a function that sends once more what an answer refuses that says a nonce or a time of its server
     */
    repeat:
      (send: typeof globalThis.fetch): typeof globalThis.fetch =>
      async (input, init) => {
        const { origin } = new URL(String(input));
        const answer = await send(input, init);
        if (!learn(answer, origin)) return answer;
        await answer.body?.cancel();
        const second = await send(input, init);
        learn(second, origin);
        return second;
      },
  };
}

async function createProofKey(): Promise<{ privateKey: CryptoKey; jwk: JWK }> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  return { privateKey, jwk: await exportJWK(publicKey) };
}

function describeKey(key: JWK | CryptoKey): { alg: string; kid?: string } {
  // A key that was not parsed is a text, which must not come into a log.
  if (!isPrivate(key)) throw new TypeError('privateKey: a private JWK, or a CryptoKey.');
  if ('algorithm' in key) return { alg: ALGORITHMS[key.algorithm.name] ?? key.algorithm.name };
  const { kty = '', alg = ALGORITHMS[kty] ?? kty, kid } = key;
  return kid === undefined ? { alg } : { alg, kid };
}

function isPrivate(key: unknown): boolean {
  return isObject(key) && ('d' in key || ('algorithm' in key && key.type === 'private'));
}
