// The outbox of entity workflows: who takes what.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkflowCommandStore } from '../../src/temporal/workflow-command.store.ts';
import { createTestDatabase } from '../setup/database.ts';

const store = createWorkflowCommandStore();
let test: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test?.drop());

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
