// The public key set of an agent (RFC 7517 §5): what services need in order to verify what the agent has signed.
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import type { CurveJwk } from '../../platform/crypto/jwk.ts';
import { jwkThumbprint, type PublicKey, toJwk } from '../../platform/crypto/public-key.ts';

/** The most keys of one set. The newest are shown. */
export const MOST_SHOWN = 100;

/**
 * The `alg` of each algorithm (RFC 8037 §3.1, RFC 7518 §3.4, RFC 8812 §3.2). No `alg` and no JWK is registered for
 * bip340: shown as a point of secp256k1, such a key would be taken for an ES256K key, and has the same thumbprint.
 */
const JWK_ALGORITHMS = { ed25519: 'EdDSA', es256: 'ES256', es256k: 'ES256K' } as const;

type ShownAlgorithm = keyof typeof JWK_ALGORITHMS;

export type AgentJwk = CurveJwk & {
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: (typeof JWK_ALGORITHMS)[ShownAlgorithm];
};

/** The algorithms whose keys are shown. */
export const SHOWN_ALGORITHMS = Object.keys(JWK_ALGORITHMS);

/** Returns the JWKs of the keys that can be shown. `kid` is the RFC 7638 thumbprint. */
export function toJwks(keys: readonly PublicKey[]): AgentJwk[] {
  return keys.flatMap((key) =>
    isShown(key.algorithm)
      ? [{ ...toJwk(key), kid: jwkThumbprint(key), use: 'sig', alg: JWK_ALGORITHMS[key.algorithm] }]
      : [],
  );
}

function isShown(algorithm: KeyAlgorithm): algorithm is ShownAlgorithm {
  return algorithm in JWK_ALGORITHMS;
}
