// The audit log against a real database: whole, in the transaction, append-only.
import { beforeEach, describe, expect, it } from 'vitest';
import { operatorContext } from '../../src/audit/audit.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { Transaction } from '../../src/platform/database/transaction.ts';
import { RecordService } from '../../src/webhooks/intake/record.service.ts';
import { useTestDatabase } from '../setup/database.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';

let context: RequestContext;
const records = new RecordService({ notifier: { poke: () => undefined } });

const test = await useTestDatabase();

beforeEach(async () => {
  context = await createTenantContext(test.database);
});

const rows = async () =>
  (await test.database.query('SELECT * FROM audit_log WHERE tenant_id = $1 ORDER BY id', [context.tenant.id]))
    .rows;

describe('the audit log', () => {
  it('keeps every part of an entry, in one statement for all, through either kind of transaction', async () => {
    const keyId = '0192f0c0-0000-7000-8000-00000000000a';
    const target = { type: 'agent', id: 'agent-1' };
    const principal = {
      kind: 'application',
      subject: 'app-1',
      clientId: 'app-1',
      tokenId: 'token-1',
      scopes: [],
    } as const;
    const data = { text: 'a "quoted" \\ ü {x}, NULL', list: [1, null], deep: { a: true } };
    const alone = <T>(work: (transaction: Transaction) => Promise<T>) => test.database.transaction({}, work);
    const joined: typeof alone = (work) =>
      alone((transaction) => test.database.transaction({ transaction }, work));
    for (const run of [alone, joined]) {
      let statements = 0;
      await run(async (unit) => {
        const counting = {
          query: <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
            statements += 1;
            return unit.query<Row>(text, values, members);
          },
        };
        await records.write(
          counting,
          { ...context, principal },
          {
            audit: [
              { action: 'agent.created', outcome: 'success', target, keyId, tokenId: 'token-2', data },
              {
                action: 'auth.verify',
                outcome: 'failure',
                reason: 'invalid_signature',
                actor: { kind: 'anonymous' },
              },
            ],
          },
        );
      });
      expect(statements).toBe(1);
    }
    const written = await rows();
    expect(written).toHaveLength(4);
    expect(written[0]).toMatchObject({
      action: 'agent.created',
      outcome: 'success',
      reason: null,
      actor_kind: 'application',
      actor_id: 'app-1',
      target_type: 'agent',
      target_id: 'agent-1',
      key_id: keyId,
      token_id: 'token-2',
      client_address: context.address,
      request_id: context.requestId,
      data,
    });
    expect(written[1]).toMatchObject({
      reason: 'invalid_signature',
      actor_kind: 'anonymous',
      actor_id: null,
      data: {},
    });
    expect(written[3]).toMatchObject({ action: 'auth.verify' });
  });

  it('knows nothing of what was rolled back, and writes nothing for no entries', async () => {
    await expect(
      test.database.transaction({}, async (unit) => {
        await records.write(unit, context, { audit: [{ action: 'agent.created', outcome: 'success' }] });
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await records.write({ query: () => Promise.reject(new Error('a statement for nothing')) }, context, {
      audit: [],
    });
    expect(await rows()).toEqual([]);
  });

  it('names the operator for what the command line does', async () => {
    const { tenant } = context;
    await records.write(test.database, operatorContext(tenant, 'request-1'), {
      audit: [{ action: 'tenant.created', outcome: 'success' }],
    });
    expect(await rows()).toMatchObject([
      { actor_kind: 'operator', client_address: 'local', request_id: 'request-1' },
    ]);
  });

  it('can be neither changed nor shortened', async () => {
    await records.write(test.database, context, { audit: [{ action: 'agent.created', outcome: 'success' }] });
    for (const statement of [
      "UPDATE audit_log SET action = 'nothing'",
      'DELETE FROM audit_log',
      'TRUNCATE audit_log',
    ]) {
      await expect(test.database.query(statement)).rejects.toThrow('append-only');
    }
    expect(await rows()).toHaveLength(1);
  });
});
