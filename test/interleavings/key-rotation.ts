// The scenario of a key that goes: people, the agent and the steps of its workflow change one rotation concurrently.

import { answer, ask } from '../authentication/challenges/answer.ts';
import { beginRotation, newKeyPair } from '../identity/keys/rotation-case.ts';
import { compareCounts, type Scenario, type Stage } from './stage.ts';

const ACTS = [
  'useOld',
  'useNew',
  'deprecateOld',
  'deprecateNew',
  'revokeOld',
  'revokeNew',
  'cancel',
  'cancelByOperator',
  'beginAnother',
  'switch',
  'warn',
  'revokeAtSunset',
  'suspend',
] as const;
type Act = (typeof ACTS)[number];

/** A history that the rows already have: time that has passed is written into them before the units begin. */
const BEFORE = ['nothing', 'used', 'stalled', 'used and stalled', 'switched', 'sunset'] as const;

const OPEN_ENDS = `
SELECT (SELECT count(*)::int FROM key_rotations r JOIN agent_keys k ON k.id = r.old_key_id
    WHERE r.agent_id = $1 AND r.ended_at IS NULL AND k.state = 'revoked') AS "open rotations of a revoked key",
  (SELECT count(*)::int FROM (SELECT 1 FROM key_rotations WHERE agent_id = $1 AND ended_at IS NULL
    GROUP BY old_key_id HAVING count(*) > 1) AS more) AS "keys with two open rotations",
  (SELECT count(*)::int FROM refresh_tokens t JOIN agent_keys k ON k.id = t.key_id
    WHERE k.agent_id = $1 AND k.state = 'revoked' AND t.revoked_at IS NULL) AS "live tokens of a revoked key",
  (SELECT count(*)::int FROM challenges c JOIN agent_keys k ON k.id = c.key_id
    WHERE k.agent_id = $1 AND c.consumed_at >= k.sunset_at) AS "uses after the sunset",
  (SELECT count(*)::int FROM agent_keys WHERE agent_id = $1 AND state = 'revoked')
    - (SELECT count(*)::int FROM audit_log WHERE tenant_id = $2 AND action = 'agent.key.revoked') AS "revocations without one record",
  (SELECT count(*)::int FROM key_rotations WHERE agent_id = $1 AND ended_at IS NOT NULL)
    - (SELECT count(*)::int FROM audit_log WHERE tenant_id = $2 AND action IN
       ('agent.key.rotation.completed', 'agent.key.rotation.canceled', 'agent.key.rotation.aborted')) AS "ends without one record"`;

export const keyRotation: Scenario = {
  name: 'key rotation',
  refusals: ['conflict', 'key_revoked', 'not_found', 'policy_denied'],
  prepare: async (stage, random) => {
    const context = await stage.createTenant();
    const first = stage.rooms(0);
    const one = await beginRotation(first, context);
    const { agent, oldKey, newKey, rotation } = one;
    const name = { tenantId: context.tenant.id, keyId: oldKey.id };
    await makeHistory(stage, random.pick(BEFORE), one);
    const answerOf = async (signer: typeof oldKey | typeof newKey) =>
      answer(await ask(first, context, signer.fingerprint), signer);
    const inputs = { old: await answerOf(oldKey).catch(() => undefined), new: await answerOf(newKey) };
    await Promise.all([0, 1, 2, 3].map((process) => stage.rooms(process).tenants.byId(name.tenantId)));
    const acts: Record<Act, (process: number) => Promise<unknown>> = {
      useOld: async (n) => inputs.old && stage.rooms(n).challenges.verify(context, inputs.old),
      useNew: (n) => stage.rooms(n).challenges.verify(context, inputs.new),
      deprecateOld: (n) =>
        stage.rooms(n).keys.deprecate(context, agent.id, oldKey.id, { sunsetAfterSeconds: 600 }),
      deprecateNew: (n) =>
        stage.rooms(n).keys.deprecate(context, agent.id, newKey.id, { sunsetAfterSeconds: 600 }),
      revokeOld: (n) => stage.rooms(n).keys.revoke(context, agent.id, oldKey.id),
      revokeNew: (n) => stage.rooms(n).keys.revoke(context, agent.id, newKey.id),
      cancel: (n) => stage.rooms(n).rotations.cancel(context, agent.id, rotation.id),
      cancelByOperator: (n) => stage.rooms(n).rotations.cancelByOperator(name, { reason: 'by phone' }),
      beginAnother: (n) =>
        stage.rooms(n).rotations.begin(context, agent.id, { oldKeyId: oldKey.id, ...newKeyPair() }),
      switch: (n) => stage.rooms(n).rotationSteps.perform(name, 'switch'),
      warn: (n) => stage.rooms(n).rotationSteps.perform(name, 'warn'),
      revokeAtSunset: (n) => stage.rooms(n).rotationSteps.perform(name, 'revoke'),
      suspend: (n) => stage.rooms(n).agents.suspend(context, agent.id),
    };
    const chosen = random.some(ACTS, 2 + random.below(3));
    return {
      units: chosen.map((act, process) => ({ name: act, process, act: () => acts[act](process) })),
      check: () =>
        compareCounts(
          stage,
          {
            'open rotations of a revoked key': 0,
            'keys with two open rotations': 0,
            'live tokens of a revoked key': 0,
            'uses after the sunset': 0,
            'revocations without one record': 0,
            'ends without one record': 0,
          },
          OPEN_ENDS,
          [agent.id, name.tenantId],
        ),
    };
  },
};

async function makeHistory(
  stage: Stage,
  before: (typeof BEFORE)[number],
  { oldKey, rotation, useNew }: Awaited<ReturnType<typeof beginRotation>>,
): Promise<void> {
  if (before === 'nothing') return;
  if (before.includes('used') || before === 'switched' || before === 'sunset') await useNew();
  if (before.includes('stalled'))
    await stage.read.query("UPDATE key_rotations SET deadline_at = now() - interval '1 s' WHERE id = $1", [
      rotation.id,
    ]);
  if (before === 'used' || before === 'used and stalled' || before === 'stalled') return;
  const { tenantId } = rotation;
  await stage.rooms(0).rotationSteps.perform({ tenantId, keyId: oldKey.id }, 'switch');
  if (before === 'sunset')
    await stage.read.query("UPDATE agent_keys SET sunset_at = now() - interval '1 s' WHERE id = $1", [
      oldKey.id,
    ]);
}
