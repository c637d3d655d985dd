// The plans of the statements of a login or an exchange, on tables without rows: a connection plans a statement once,
// perhaps then.
import { describe, expect, it } from 'vitest';
import * as challenges from '../../../src/authentication/challenges/challenge.store.ts';
import * as redemption from '../../../src/authentication/challenges/redemption.store.ts';
import * as delegations from '../../../src/authentication/delegations/delegation.store.ts';
import * as credentials from '../../../src/authentication/tokens/client-credentials.store.ts';
import * as rotation from '../../../src/authentication/tokens/refresh-rotation.store.ts';
import * as applications from '../../../src/identity/applications/application.store.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { useTestDatabase } from '../../setup/database.ts';

const { database } = await useTestDatabase();

/** The scans of the generic plan of the statement that a call of a store sends: each index with its condition. */
async function scansOf(send: (queryable: Queryable) => Promise<unknown>): Promise<string[]> {
  const texts: string[] = [];
  const noted = new Error('the statement is noted');
  const query: Queryable['query'] = async (text) => {
    texts.push(text);
    throw noted;
  };
  await expect(send({ query })).rejects.toBe(noted);
  const { rows } = await database.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (GENERIC_PLAN, COSTS OFF) ${texts.join()}`,
  );
  const lines = rows.map((row) => row['QUERY PLAN'].trim());
  return lines.flatMap((line, n) => {
    const [, scan] = /((?:Seq|Index|Index Only|Bitmap Index) Scan .*)$/.exec(line) ?? [];
    return scan === undefined ? [] : [`${scan} ${lines[n + 1]}`];
  });
}

const CALLS: [string, (queryable: Queryable) => Promise<unknown>][] = [
  ['the load of challenges', (q) => challenges.load(q, [])],
  ['the search for keys', (q) => challenges.findHolders(q, [])],
  ['the redemption', (q) => redemption.redeem(q, [], { waits: false })],
  ['the read of clients', (q) => applications.findClients(q, [])],
  ['the record of tokens', (q) => credentials.record(q, [], { waits: false, isRepeated: false })],
  ['the read of refresh tokens', (q) => rotation.find(q, [])],
  ['the rotation of refresh tokens', (q) => rotation.rotateTogether(q, [])],
  ['the search for delegations', (q) => delegations.findForExchanges(q, [], 'skipping')],
];

describe('before the first row', () => {
  it.each(CALLS)('%s is planned by conditions that a key, or a tenant, answers', async (_, send) => {
    // Open rotations are read only after the first use of a key.
    const scans = (await scansOf(send)).filter((scan) => !scan.includes('key_rotations_open'));
    expect(scans).not.toEqual([]);
    for (const scan of scans) {
      expect(scan).toContain('Index Cond');
      expect(scan).not.toMatch(
        /delegations_by_agent|challenges_by_end|refresh_tokens_live|agent_keys_by_point|subscriptions_by_host/,
      );
      // An index that begins with the tenant needs the tenant.
      if (scan.includes('_by_tenant')) expect(scan).toContain('tenant_id =');
    }
  });
});
