// Whatever people, the agent and time do to a key that goes, in whatever order and at the same time: what is left
// agrees with itself, and the workflow ends once nothing is left to wait for.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { ServiceError } from '../../src/platform/errors/service-error.ts';
import { newKeyPair } from '../identity/keys/rotation-case.ts';
import { eventually } from './delivery-engine.ts';
import { createKeyRotationEngine } from './key-rotation-engine.ts';

const engine = await createKeyRotationEngine();
engine.startRunner();
await engine.startWorker();
afterAll(() => engine.close());

const STEPS = [
  'useOld',
  'useNew',
  'deprecateOld',
  'deprecateNew',
  'revokeOld',
  'revokeNew',
  'cancel',
  'cancelByOperator',
  'beginAnother',
  'noticeSwitch',
  'warn',
  'terminate',
  'pause',
] as const;
type Step = (typeof STEPS)[number];

/** Somebody may be too late, and is told so. */
const REFUSALS = ['conflict', 'key_revoked', 'not_found'];

async function run(groups: readonly (readonly Step[])[]): Promise<void> {
  const { rooms, context, database } = engine;
  const one = await engine.begin({ overlapSeconds: 2, deadlineSeconds: 1 });
  const { agent, oldKey, newKey, rotation } = one;
  const name = { tenantId: context.tenant.id, keyId: oldKey.id };
  const perform: Record<Step, () => Promise<unknown>> = {
    useOld: one.useOld,
    useNew: one.useNew,
    deprecateOld: () => rooms.keys.deprecate(context, agent.id, oldKey.id, { sunsetAfterSeconds: 2 }),
    deprecateNew: () => rooms.keys.deprecate(context, agent.id, newKey.id, { sunsetAfterSeconds: 60 }),
    revokeOld: () => rooms.keys.revoke(context, agent.id, oldKey.id),
    revokeNew: () => rooms.keys.revoke(context, agent.id, newKey.id),
    cancel: () => rooms.rotations.cancel(context, agent.id, rotation.id),
    cancelByOperator: () => rooms.rotations.cancelByOperator(name, { reason: 'by phone' }),
    beginAnother: () =>
      rooms.rotations.begin(context, agent.id, {
        oldKeyId: oldKey.id,
        ...newKeyPair(),
        overlapSeconds: 2,
        deadlineSeconds: 1,
      }),
    noticeSwitch: () => rooms.rotationSteps.perform(name, 'switch'),
    warn: () => rooms.rotationSteps.perform(name, 'warn'),
    // By hand, which must harm nothing: the next change starts it again.
    terminate: () =>
      engine
        .workflow(oldKey.id)
        .terminate('by hand')
        .catch(() => undefined),
    pause: () => sleep(700),
  };
  for (const group of groups)
    await Promise.all(
      group.map((step) =>
        perform[step]().catch((error: unknown) => {
          if (!(error instanceof ServiceError) || !REFUSALS.includes(error.code)) throw error;
        }),
      ),
    );
  // What ends whatever is still open.
  await perform.deprecateOld().catch(() => undefined);
  // A workflow that was terminated after the last change is missing until somebody finds that it is.
  await database.query(
    `INSERT INTO workflow_commands (tenant_id, workflow, entity_id) VALUES ($1, 'agentKeyRotation', $2)`,
    [name.tenantId, name.keyId],
  );
  await eventually(
    async () => {
      const { rowCount } = await database.query(
        `SELECT 1 FROM agent_keys WHERE id = $1 AND state = 'revoked'`,
        [oldKey.id],
      );
      return rowCount > 0;
    },
    `the old key to be revoked after ${JSON.stringify(groups)}`,
  );
  await engine.toldAll();
  await eventually(
    async () => {
      const { status } = await engine.workflow(oldKey.id).describe();
      return status.name !== 'RUNNING';
    },
    `its workflow to end after ${JSON.stringify(groups)}`,
  );
  const { rows } = await database.query(
    `SELECT (SELECT count(*)::int FROM key_rotations r WHERE r.old_key_id = k.id AND r.ended_at IS NULL) AS open,
       (SELECT count(*)::int FROM challenges c WHERE c.key_id = k.id AND c.consumed_at >= k.sunset_at) AS late,
       (SELECT count(*)::int FROM refresh_tokens t WHERE t.key_id = k.id AND t.revoked_at IS NULL) AS live,
       (SELECT count(*)::int FROM events e WHERE convert_from(e.body, 'UTF8')::jsonb ->> 'type' = 'admin.agent.key.revoked'
         AND convert_from(e.body, 'UTF8')::jsonb -> 'data' ->> 'key_id' = k.id::text) AS revocations,
       (SELECT count(*)::int FROM key_rotations r WHERE r.old_key_id = k.id AND r.ended_at IS NOT NULL)
         - (SELECT count(*)::int FROM audit_log l WHERE l.key_id = k.id
            AND l.action IN ('agent.key.rotation.completed', 'agent.key.rotation.canceled', 'agent.key.rotation.aborted')) AS untold
     FROM agent_keys k WHERE k.id = $1`,
    [oldKey.id],
  );
  expect({ groups, ...rows[0] }).toEqual({ groups, open: 0, late: 0, live: 0, revocations: 1, untold: 0 });
}

it.each<[string, Step[][]]>([
  ['a switch, a cancel and a revocation together', [['useNew', 'cancel', 'revokeOld', 'noticeSwitch']]],
  ['a switch when the deadline passes', [['pause'], ['pause', 'useNew', 'warn', 'noticeSwitch']]],
  ['a deprecation by hand at the switch', [['useNew', 'deprecateOld', 'cancelByOperator']]],
  ['the new key revoked at the switch', [['useNew', 'revokeNew', 'deprecateOld']]],
  [
    'another rotation at the cancel of the first',
    [
      ['cancel', 'beginAnother'],
      ['beginAnother', 'useNew'],
    ],
  ],
  ['its workflow terminated at the switch', [['useNew', 'terminate'], ['terminate']]],
])('%s leaves nothing that contradicts itself', (_, groups) => run(groups));

it('nothing contradicts itself after any of them in any order', async () => {
  const group = fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 3 });
  const runs = fc.array(fc.array(group, { minLength: 1, maxLength: 6 }), { minLength: 8, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(runs, async (several) => {
      await Promise.all(several.map(run));
    }),
    { numRuns: 3, endOnFailure: true },
  );
});
