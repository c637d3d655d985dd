// The answer to a wrong signature names the mistake that the agent's author has made.
import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { buildPayloadOfResponse } from '../../../packages/agent/src/payloads.ts';
import { presentChallenge } from '../../../src/authentication/challenges/challenge.schemas.ts';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { createRooms, createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { signPayload } from '../../platform/crypto/sign.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { answer, ask, forge } from './answer.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database);
const context = await createTestTenant(rooms);
afterAll(() => rooms.verifier.close());

const text = (payload: Uint8Array) => Buffer.from(payload).toString();
const hashOf = (payload: Uint8Array) => createHash('sha256').update(payload).digest();

/** What is signed instead of the payload, and what the answer says of it. */
const MISTAKES = {
  'the payload with a line feed at its end': ({ payload }) => `${text(payload)}\n`,
  'the payload with CRLF between its lines': ({ payload }) => text(payload).replaceAll('\n', '\r\n'),
  'the nonce alone': ({ nonce }) => nonce,
  'the 32 bytes of the nonce alone': ({ nonce }) => Buffer.from(nonce, 'hex'),
  'the SHA-256 of the payload': ({ payload }) => hashOf(payload),
  'the SHA-256 of the payload in hex': ({ payload }) => hashOf(payload).toString('hex'),
} satisfies Record<string, (signed: { payload: Uint8Array; nonce: string }) => string | Buffer>;

describe.each(KEY_ALGORITHMS)('a wrong signature by a key of %s', (algorithm) => {
  /**
   * @returns the answer's detail for the signature that is made of challenge and payload, and the payload's description
   */
  async function refuse(
    sign: (signed: { payload: Uint8Array; nonce: string; right: string; privateKey: Uint8Array }) => string,
  ) {
    const agent = await createTestAgent(rooms, context, { algorithm });
    const challenge = await ask(rooms, context, agent.fingerprint);
    const payload = buildPayloadOfResponse(presentChallenge(challenge));
    const right = answer(challenge, agent);
    const signature = sign({
      ...{ payload, nonce: challenge.nonce, right: right.signature },
      privateKey: agent.privateKey,
    });
    const refusal = rooms.challenges.verify(context, { ...right, signature });
    await expect(refusal).rejects.toMatchObject({ code: 'invalid_signature' });
    const { detail } = await refusal.then(
      () => ({ detail: '' }),
      (error: { detail: string }) => error,
    );
    // The challenge is not spent.
    await expect(rooms.challenges.verify(context, right)).resolves.toMatchObject({ scopes: ['openid'] });
    const expected = `(${payload.length} bytes, SHA-256 ${hashOf(payload).toString('hex')})`;
    return { detail, expected };
  }

  // A signature of bip340 over the hash is a right one.
  const names = Object.keys(MISTAKES).filter(
    (name) => algorithm !== 'bip340' || name !== 'the SHA-256 of the payload',
  );
  it.each(names)('over %s is named', async (name) => {
    const { detail, expected } = await refuse((signed) =>
      signPayload(algorithm, signed.privateKey, Buffer.from(MISTAKES[name as keyof typeof MISTAKES](signed))),
    );
    expect(detail).toBe(
      `The key has signed ${name}, but is to sign the challenge's canonical payload ${expected}.`,
    );
  });

  it('in hex is named', async () => {
    const { detail, expected } = await refuse(({ right }) => Buffer.from(right, 'base64').toString('hex'));
    expect(detail).toContain('The signature is in hex: send it in base64.');
    expect(detail).toContain(expected);
  });

  it('in hex in base64, or with a recovery id, is named', async () => {
    const { detail } = await refuse(({ right }) =>
      Buffer.from(Buffer.from(right, 'base64').toString('hex')).toString('base64'),
    );
    expect(detail).toContain('The signature is hex in base64: send its bytes themselves in base64.');
    // Only ECDSA has recovery ids.
    const long = await refuse(() => Buffer.alloc(65, 1).toString('base64'));
    expect(long.detail.includes('send the 64 bytes of r and s alone')).toBe(/^es/.test(algorithm));
  });

  it('that is no base64, or too short, is named', async () => {
    const dotted = await refuse(({ right }) => `${right.slice(0, 20)}.${right.slice(20)}`);
    expect(dotted.detail).toContain('The signature is not in base64.');
    const short = await refuse(({ right }) =>
      Buffer.from(right, 'base64').subarray(0, 63).toString('base64'),
    );
    expect(short.detail).toContain('The signature has 63 bytes');
    if (algorithm === 'ed25519') {
      const zeros = await refuse(() => Buffer.alloc(64).toString('base64'));
      expect(zeros.detail).toContain('The 64 bytes of the signature cannot be a signature of ed25519.');
    }
  });

  it('by another key says what was to be signed', async () => {
    const agent = await createTestAgent(rooms, context, { algorithm });
    const challenge = await ask(rooms, context, agent.fingerprint);
    await expect(rooms.challenges.verify(context, forge(challenge, agent))).rejects.toMatchObject({
      detail: expect.stringMatching(
        /^The signature is not the key's over the challenge's canonical payload \(\d+ bytes, SHA-256 [0-9a-f]{64}\)\.$/,
      ),
    });
  });
});
