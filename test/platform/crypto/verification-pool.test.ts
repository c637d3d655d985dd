// BIP 340 on real worker threads.
import { afterEach, describe, expect, it } from 'vitest';
import {
  createVerificationPool,
  type VerificationPool,
} from '../../../src/platform/crypto/verification-pool.node.ts';
import { createSignatureVerifier } from '../../../src/platform/crypto/verify-signature.node.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from './sign.ts';

const privateKey = generatePrivateKey('bip340');
const publicKey = derivePublicKey('bip340', privateKey).raw;
const payload = new TextEncoder().encode('payload');
const base64 = signPayload('bip340', privateKey, payload);
const signature = Uint8Array.from(Buffer.from(base64, 'base64'));
const wrong = signature.with(40, (signature[40] ?? 0) ^ 1);

let pool: VerificationPool | undefined;
afterEach(() => pool?.close());

describe('the verification pool', () => {
  it('answers each verification with its own result, in any number', async () => {
    pool = createVerificationPool({ size: 2 });
    const wanted = Array.from({ length: 40 }, (_, index) => index % 3 !== 0);
    const { verify } = pool;
    expect(
      await Promise.all(wanted.map((isValid) => verify(isValid ? signature : wrong, payload, publicKey))),
    ).toEqual(wanted);
  });

  it('leaves the event loop free', async () => {
    pool = createVerificationPool({ size: 1 });
    const { verify } = pool;
    await verify(signature, payload, publicKey);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await Promise.all(Array.from({ length: 60 }, () => verify(wrong, payload, publicKey)));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
  });

  it('takes no more than may wait, and loses none of those', async () => {
    pool = createVerificationPool({ size: 2, longestQueue: 5 });
    const { verify } = pool;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => verify(signature, payload, publicKey)),
    );
    const answered = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(answered.map(({ value }) => value)).toEqual(Array(10).fill(true));
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(new Set(refused.map(({ reason }) => reason.code))).toEqual(new Set(['temporarily_unavailable']));
    expect(await verify(wrong, payload, publicKey)).toBe(false);
  });

  it('finishes what a thread that ends has left, and goes on', async () => {
    pool = createVerificationPool({ size: 2 });
    const { verify } = pool;
    const underWay = [
      verify(signature, payload, publicKey),
      verify(wrong, payload, publicKey),
      verify(signature, payload, publicKey),
    ];
    await pool.close();
    expect(await Promise.all(underWay)).toEqual([true, false, true]);
    expect(await verify(signature, payload, publicKey)).toBe(true);
  });

  it('is what the verifier of the server uses', async () => {
    const verifier = createSignatureVerifier({ schnorrThreads: 1 });
    const input = { algorithm: 'bip340', publicKey, payload, signature: base64 } as const;
    expect(await verifier.verifySignature(input)).toBe(true);
    expect(await verifier.verifySignature({ ...input, payload: payload.slice(1) })).toBe(false);
    await verifier.close();
  });
});
