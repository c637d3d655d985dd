// Verifies BIP 340 signatures that may be over one of several messages, and keeps tables of keys that come often.
import type { schnorr } from '@noble/curves/secp256k1.js';

type Curve = Pick<typeof schnorr, 'Point' | 'utils'>;
type Point = InstanceType<Curve['Point']>;

/** `times`: how often the key was used while it was among the last ones. */
type KnownKey = { readonly point: Point; times: number };

/**
 * @param messages the signature may be over any of them; they are tried in order
 * @param signature 64 bytes
 * @param publicKey 32 bytes, x-only
 */
export type VerifyBip340 = (
  signature: Uint8Array,
  messages: readonly Uint8Array[],
  publicKey: Uint8Array,
) => boolean;

/**
 * Makes a verifier. Worker threads run the text of this function, so it uses nothing of its module. The second message
 * costs one multiplication, because `s⋅G - e'⋅P = (s⋅G - e⋅P) + (e - e')⋅P`. A key that was used eight times gets a
 * table, which costs as much as four verifications, has about 200 KB, and halves each one from then on. Keys in turn,
 * more than are kept, get none. Source: BIP 340, "Verification".
 * @param curve noble's secp256k1, whose own `verify` takes one message, and keeps nothing of a key
 */
export function createBip340Verifier({ Point, utils }: Curve): VerifyBip340 {
  const KEPT = 32;
  const OFTEN = 8;
  const WINDOW = 4;
  const { BASE, Fp, Fn } = Point;
  const keys = new Map<string, KnownKey>();

  const toHex = (bytes: Uint8Array): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
  const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x${toHex(bytes)}`);

  const findKey = (publicKey: Uint8Array): KnownKey | undefined => {
    const name = toHex(publicKey);
    let key = keys.get(name);
    try {
      key ??= { point: utils.lift_x(BigInt(`0x${name}`)), times: 0 };
    } catch {
      return undefined;
    }
    keys.delete(name);
    keys.set(name, key);
    const [oldest] = keys.keys();
    if (keys.size > KEPT && oldest !== undefined) keys.delete(oldest);
    key.times += 1;
    if (key.times === OFTEN) key.point.precompute(WINDOW);
    return key;
  };

  /** s⋅G - e⋅P. Without a table both products share their doublings. */
  const difference = ({ point, times }: KnownKey, s: bigint, e: bigint): Point =>
    times < OFTEN
      ? BASE.mulAddUnsafe(s, point, Fn.neg(e))
      : BASE.multiplyUnsafe(s).add(point.multiplyUnsafe(Fn.neg(e)));

  /** Only a point whose x is right is worth the inversion that y needs. */
  const isEvenPointOf = (point: Point, x: bigint): boolean =>
    !point.is0() && Fp.eql(point.X, Fp.mul(x, point.Z)) && (point.toAffine().y & 1n) === 0n;

  return (signature, messages, publicKey) => {
    const rBytes = signature.subarray(0, 32);
    const r = toNumber(rBytes);
    const s = toNumber(signature.subarray(32, 64));
    if (!Fp.isValidNot0(r) || !Fn.isValidNot0(s)) return false;
    const key = findKey(publicKey);
    if (key === undefined) return false;
    let last: { readonly e: bigint; readonly point: Point } | undefined;
    for (const message of messages) {
      const e = Fn.create(toNumber(utils.taggedHash('BIP0340/challenge', rBytes, publicKey, message)));
      const point: Point =
        last === undefined
          ? difference(key, s, e)
          : last.point.add(key.point.multiplyUnsafe(Fn.sub(last.e, e)));
      if (isEvenPointOf(point, r)) return true;
      last = { e, point };
    }
    return false;
  };
}
