// The outbox of entity workflows: who takes what.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EntityWorkflow } from '../../../src/platform/temporal/names.ts';
import * as store from '../../../src/platform/temporal/workflow-command.store.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();

describe('a command', () => {
  it('of a workflow that this version does not know is left to the workers of the one that wrote it', async () => {
    const [tenantId, known, unknown] = [randomUUID(), randomUUID(), randomUUID()];
    await test.database.query(
      `INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
       VALUES ($1, 'somethingNew', $2), ($1, 'webhookSecretRotation', $3)`,
      [tenantId, unknown, known],
    );
    const claimed = await store.claim(test.database, { limit: 10, lease: 60_000 });
    expect(claimed.map(({ entityId }) => entityId)).toEqual([known]);
    await store.remove(
      test.database,
      claimed.map(({ id }) => id),
    );
    expect(await store.claim(test.database, { limit: 10, lease: 60_000 })).toEqual([]);
    expect(await store.findStuck(test.database, 0)).toMatchObject({ count: 1 });
  });
});

it('many commands of one act keep nobody waiting who comes behind them, and all of them come', async () => {
  const { database } = test;
  await database.query('DELETE FROM workflow_commands');
  const command = (workflow: EntityWorkflow) => ({
    tenantId: randomUUID(),
    workflow,
    entityId: randomUUID(),
  });
  const many = Array.from({ length: 1_000 }, () => command('endpointRecovery'));
  await store.insert(database, many);
  const rotation = command('agentKeyRotation');
  await store.insert(database, [rotation]);
  // The column rounds to milliseconds, and so may be after a claim that follows within one.
  await database.query("UPDATE workflow_commands SET claimable_at = claimable_at - interval '1 millisecond'");
  const claim = (limit: number) => store.claim(database, { limit, lease: 3_600_000 });
  const first = (await claim(64)).map(({ entityId }) => entityId);
  expect(first).toContain(rotation.entityId);
  expect(first.length).toBeGreaterThan(32);
  expect(await store.findStuck(database, 60)).toMatchObject({ count: 0, seconds: 0 });

  // All are due within ten seconds.
  await database.query(
    "UPDATE workflow_commands SET claimable_at = claimable_at - interval '10 seconds' WHERE NOT entity_id = ANY ($1::uuid[])",
    [first],
  );
  const rest = (await claim(2_000)).map(({ entityId }) => entityId);
  expect(new Set([...first, ...rest]).size).toBe(1_001);
});
