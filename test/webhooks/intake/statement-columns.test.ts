// The statements that write audit entries and events name every column of those tables.
import { describe, expect, it } from 'vitest';
import * as auditStore from '../../../src/audit/audit.store.ts';
import * as redemptionStore from '../../../src/authentication/challenges/redemption.store.ts';
import * as credentialsStore from '../../../src/authentication/tokens/client-credentials.store.ts';
import * as refreshStore from '../../../src/authentication/tokens/refresh-rotation.store.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import * as eventStore from '../../../src/webhooks/intake/event.store.ts';
import { useTestDatabase } from '../../setup/database.ts';

/** The columns that the database fills. */
const FILLED = { audit_log: ['occurred_at', 'xid'], events: ['created_at', 'xid'] } as const;

const test = await useTestDatabase();

/** The text that a store sends for a call. */
async function textOf(send: (queryable: Queryable) => Promise<unknown>): Promise<string> {
  const texts: string[] = [];
  const noted = new Error('the statement is noted');
  const query: Queryable['query'] = async (text) => {
    texts.push(text);
    throw noted;
  };
  await expect(send({ query })).rejects.toBe(noted);
  expect(texts).toHaveLength(1);
  return texts.join();
}

const append = () => textOf((queryable) => auditStore.insert(queryable, []));
const emit = () => textOf((queryable) => eventStore.emit(queryable, []));
const publish = () => textOf((queryable) => eventStore.publish(queryable, []));
const recordTokens = () =>
  textOf((queryable) => credentialsStore.record(queryable, [], { waits: false, isRepeated: false }));
const rotateTogether = () => textOf((queryable) => refreshStore.rotateTogether(queryable, []));
const redeem = (waits: boolean) => () =>
  textOf((queryable) => redemptionStore.redeem(queryable, [], { waits }));

/** The columns that a statement inserts into a table. */
const insertedInto = (table: string, text: string) =>
  new RegExp(`INSERT INTO ${table}\\s*\\(([^)]*)\\)`).exec(text)?.[1]?.split(/,\s*/).sort();

async function columnsOf(table: keyof typeof FILLED): Promise<string[]> {
  const { rows } = await test.database.query<{ name: string }>(
    "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1",
    [table],
  );
  const filled: readonly string[] = FILLED[table];
  return rows
    .map(({ name }) => name)
    .filter((name) => !filled.includes(name))
    .sort();
}

describe('a column of', () => {
  it.each([
    ['audit_log', 'the append of audit entries', append],
    ['audit_log', 'the emission of events', emit],
    ['audit_log', 'the record of tokens', recordTokens],
    ['audit_log', 'the rotation of refresh tokens', rotateTogether],
    ['audit_log', 'the redemption of challenges', redeem(false)],
    ['audit_log', 'the redemption that waits', redeem(true)],
    ['events', 'the emission of events', emit],
    ['events', 'the publication of events', publish],
    ['events', 'the redemption of challenges', redeem(false)],
    ['events', 'the redemption that waits', redeem(true)],
  ] as const)('%s is not forgotten in %s', async (table, _, statement) => {
    expect(insertedInto(table, await statement())).toEqual(await columnsOf(table));
  });
});
