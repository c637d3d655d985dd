// Work in Postgres that nobody takes, on a real database without any worker.

import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import type { Check, Finding, Outcome } from '../../../src/operations/doctor/finding.ts';
import {
  createAccountsCheck,
  createChallengeExpiryCheck,
} from '../../../src/operations/doctor/rows.check.ts';
import { createStuckWorkCheck } from '../../../src/operations/doctor/stuck-work.check.ts';
import { WorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import * as deliveryInspectionStore from '../../../src/webhooks/relay/delivery-inspection.store.ts';
import { createEngine } from '../../workflows/delivery-engine.ts';

const engine = await createEngine();
afterAll(() => engine.close());

async function examine(fix = false) {
  const findings: (Finding & { outcome: Outcome })[] = [];
  const check = createStuckWorkCheck({
    database: engine.database,
    store: deliveryInspectionStore,
    commands: new WorkflowCommandService(),
    sweep: engine.sweep(3_600_000),
  });
  const [report] = await new DoctorService({ checks: [check] }).examine(
    { fix },
    { onFinding: (finding, outcome) => findings.push({ ...finding, outcome }) },
  );
  expect(report?.failure).toBeNull();
  return findings.map(({ code, outcome, detail }) => ({ code, outcome, detail }));
}

const LONG_DELETED = `UPDATE endpoints SET deleted = true, updated_at = now() - interval '6 minutes' WHERE subscription_id = $1`;
const query = (text: string, values: unknown[] = []) => engine.database.query(text, values);
const tenant = () => engine.context.tenant.id;

describe('the examination of waiting work', () => {
  it('finds nothing in work that waits for a moment only', async () => {
    const { id } = await engine.subscribe();
    await engine.publish(id, 3);
    await query(
      `INSERT INTO workflow_commands (tenant_id, workflow, entity_id) VALUES ($1, 'webhookSecretRotation', $2)`,
      [tenant(), randomUUID()],
    );
    expect(await examine()).toEqual([]);
  });

  it('finds changes that reached no workflow, and leaves them to a worker', async () => {
    await query(
      `INSERT INTO workflow_commands (tenant_id, workflow, entity_id, created_at)
       VALUES ($1, 'webhookSecretRotation', $2, now() - interval '1 hour')`,
      [tenant(), randomUUID()],
    );
    const [finding, ...others] = await examine(true);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'command_stuck', outcome: 'left' });
    expect(finding?.detail).toMatch(/^1 changes .*, the oldest of \d{4}-/);
    await query('DELETE FROM workflow_commands');
  });

  it('finds intents that no relay hands over, and claims of a relay that is gone', async () => {
    const { id } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    await query(
      `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, command, created_at)
       VALUES ($1, $2, $3, $4, 'command', 'retry', now() - interval '1 hour')`,
      [randomUUID(), tenant(), id, delivery],
    );
    await query('UPDATE outbox SET claimed_by = $1, claim_epoch = 1 WHERE delivery_id = $2 AND kind = $3', [
      randomUUID(),
      delivery,
      'first',
    ]);
    expect((await examine(true)).map(({ code, outcome }) => [code, outcome])).toEqual([
      ['intent_stuck', 'left'],
      ['claim_dead', 'left'],
    ]);
    await query('DELETE FROM outbox');
  });

  it('finds deliveries of a deleted subscription, and cancels them', async () => {
    const { id } = await engine.subscribe();
    await engine.publish(id, 2);
    await query('UPDATE endpoints SET deleted = true, updated_at = now() WHERE subscription_id = $1', [id]);
    // The next sweep does it.
    expect(await examine()).toEqual([]);
    await query(LONG_DELETED, [id]);
    expect(await examine()).toMatchObject([{ code: 'delivery_not_canceled', outcome: 'left' }]);
    expect(await examine(true)).toMatchObject([{ code: 'delivery_not_canceled', outcome: 'mended' }]);
    const { rows } = await engine.database.query<{ status: string }>(
      'SELECT DISTINCT status FROM deliveries WHERE subscription_id = $1',
      [id],
    );
    expect(rows).toEqual([{ status: 'canceled' }]);
  });

  it.each(['first', 'wake', 'start'])(
    'finds what an ended delivery of a deleted subscription has left in the outbox (%s), and removes it',
    async (kind) => {
      const { id } = await engine.subscribe();
      const [ended = '', waiting = ''] = await engine.publish(id, 2);
      await query(`UPDATE deliveries SET status = 'canceled' WHERE id = $1`, [ended]);
      await query('UPDATE outbox SET kind = $2 WHERE delivery_id = $1', [ended, kind]);
      expect(await examine(true)).toEqual([]);
      await query(LONG_DELETED, [id]);
      expect(await examine()).toMatchObject([
        { code: 'delivery_not_canceled', detail: expect.stringMatching(/^1 /) },
        { code: 'work_not_removed', detail: expect.stringMatching(/^1 /), outcome: 'left' },
      ]);
      await query(`UPDATE deliveries SET status = 'delivered' WHERE id = $1`, [waiting]);
      expect(await examine(true)).toMatchObject([{ code: 'work_not_removed', outcome: 'mended' }]);
      // The workflow of a wake-up still waits for it, so it gets a command.
      const left = kind === 'wake' ? [{ kind: 'command', command: 'cancel', delivery_id: ended }] : [];
      expect(await engine.outbox()).toMatchObject(left);
      expect(await query('DELETE FROM outbox')).toMatchObject({ rowCount: left.length });
    },
  );

  it('finds a delivery that waits for an open endpoint with nothing to wake it, and gives it what it misses', async () => {
    const { id } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    await query('DELETE FROM outbox');
    await query(
      `UPDATE deliveries SET status = 'retrying', started_generation = 0, waiting_epoch = 1 WHERE id = $1`,
      [delivery],
    );
    expect(await examine()).toMatchObject([{ code: 'delivery_not_woken', outcome: 'left' }]);
    expect(await examine(true)).toMatchObject([{ code: 'delivery_not_woken', outcome: 'mended' }]);
    expect(await engine.outbox()).toMatchObject([{ kind: 'wake', delivery_id: delivery }]);
  });
});

describe('what only a person or a worker can change', () => {
  const findingsOf = async (check: Check) => {
    const findings: [string, Outcome][] = [];
    await new DoctorService({ checks: [check] }).examine(
      { fix: true },
      { onFinding: ({ code }, outcome) => findings.push([code, outcome]) },
    );
    return findings;
  };

  it('is a sweep of challenges that is behind', async () => {
    const check = (oldest: Date | null) => createChallengeExpiryCheck(async () => oldest);
    expect(await findingsOf(check(null))).toEqual([]);
    expect(await findingsOf(check(new Date(0)))).toEqual([['sweep_behind', 'left']]);
  });

  it('is a delivery that is not accounted for', async () => {
    const check = (lost: number, stranded: number) => createAccountsCheck(async () => ({ lost, stranded }));
    expect(await findingsOf(check(0, 0))).toEqual([]);
    expect(await findingsOf(check(2, 1))).toEqual([
      ['deliveries_lost', 'left'],
      ['deliveries_stranded', 'left'],
    ]);
  });
});
