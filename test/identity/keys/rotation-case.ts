// A rotation under way, for tests: an agent, its old key, the new one, and what signs for each.
import type { RequestContext } from '../../../src/platform/context.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint } from '../../../src/platform/crypto/public-key.ts';
import { answer, ask, type Signer } from '../../authentication/challenges/answer.ts';
import { derivePublicKey, generatePrivateKey } from '../../platform/crypto/sign.ts';
import { createTestAgent, type Rooms } from '../agents/agent-rooms.ts';

export type RotationCase = Awaited<ReturnType<typeof beginRotation>>;

/** A key pair that nobody has registered. */
export function newKeyPair(algorithm: Signer['algorithm'] = 'ed25519') {
  const privateKey = generatePrivateKey(algorithm);
  const { raw } = derivePublicKey(algorithm, privateKey);
  return { algorithm, privateKey, publicKey: encodeBase64(raw), fingerprint: fingerprint(raw) };
}

/** Begins a rotation of a new agent's only key. */
export async function beginRotation(
  rooms: Rooms,
  context: RequestContext,
  options: { overlapSeconds?: number; deadlineSeconds?: number } = {},
) {
  const holder = await createTestAgent(rooms, context);
  const next = newKeyPair();
  const { agent, key } = holder;
  const rotation = await rooms.rotations.begin(context, agent.id, { oldKeyId: key.id, ...next, ...options });
  const signIn = async (signer: Signer & { fingerprint: string }) =>
    rooms.challenges.verify(context, answer(await ask(rooms, context, signer.fingerprint), signer));
  return {
    agent,
    rotation,
    oldKey: { ...holder, id: key.id },
    newKey: { ...next, id: rotation.newKeyId },
    useOld: () => signIn(holder),
    /** The agent's switch. */
    useNew: () => signIn(next),
    read: () => rooms.rotations.get(context, agent.id, rotation.id),
    readKey: (id: string) => rooms.keys.get(context, agent.id, id),
  };
}

/** Keys whose workflows are to be told, the oldest command first. */
export async function readCommands({ database }: Rooms, tenantId: string): Promise<string[]> {
  const { rows } = await database.query<{ entity_id: string }>(
    `SELECT entity_id FROM workflow_commands WHERE tenant_id = $1 AND workflow = 'agentKeyRotation' ORDER BY created_at`,
    [tenantId],
  );
  return rows.map(({ entity_id }) => entity_id);
}
