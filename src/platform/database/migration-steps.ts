// Runs the steps of one migration while the previous version serves. A table is blocked only for a moment, and each
// step runs once.
import type pg from 'pg';
import { repeatWhileLocked } from './locked-change.ts';

/** An index with its table, which may have partitions, and columns. It is built without a lock that blocks writes. */
export type IndexStep = { readonly index: string; readonly on: string };

/** SQL for one transaction, or an index. */
export type MigrationStep = string | IndexStep;

/** Milliseconds. A step gives up after `lockTimeout` and tries again after a pause, in which other statements run. */
const PATIENCE = { lockTimeout: 1_000, pause: 1_000, tries: 60 } as const;

/**
 * Runs the missing steps in order. After a crash it continues with the interrupted step.
 * @param name of the migration; `schema_migrations` has a row `name#n` for each committed step
 */
export async function takeSteps(
  client: pg.Client,
  name: string,
  steps: readonly MigrationStep[],
): Promise<void> {
  for (const [n, step] of steps.entries())
    if (typeof step === 'string') await takeTransaction(client, `${name}#${n + 1}`, step);
    else await buildIndexes(client, step);
}

async function takeTransaction(client: pg.Client, mark: string, sql: string): Promise<void> {
  await change(client, async () => {
    const { rowCount } = await client.query(
      'INSERT INTO schema_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING',
      [mark],
    );
    if (rowCount === 1) await client.query(sql);
  });
}

async function change(client: pg.Client, run: () => Promise<unknown>): Promise<void> {
  const take = async () => {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${PATIENCE.lockTimeout}`);
    try {
      await run();
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  };
  await repeatWhileLocked(take, PATIENCE);
}

const PARTITIONS = `
SELECT p.inhrelid::regclass::text AS name FROM pg_inherits p WHERE p.inhparent = to_regclass($1) AND NOT EXISTS (
  SELECT FROM pg_index i JOIN pg_inherits a ON a.inhrelid = i.indexrelid
  WHERE i.indrelid = p.inhrelid AND a.inhparent = to_regclass($2)) ORDER BY 1`;

/** Partitions are built one by one. The table's index gives later partitions theirs, and is valid with the last. */
async function buildIndexes(client: pg.Client, { index, on }: IndexStep): Promise<void> {
  const [table = ''] = on.split(' ');
  const listMissing = () => client.query<{ name: string }>(PARTITIONS, [table, index]);
  if ((await listMissing()).rows.length === 0) return buildIndex(client, { index, on });
  await change(client, () => client.query(`CREATE INDEX IF NOT EXISTS ${index} ON ONLY ${on}`));
  for (const { name } of (await listMissing()).rows) {
    await buildIndex(client, { index: `${name}_${index}`, on: on.replace(table, name) });
    await change(client, () => client.query(`ALTER INDEX ${index} ATTACH PARTITION ${name}_${index}`));
  }
}

/** An interrupted build leaves an invalid index, which is written but never read. It is dropped and built again. */
async function buildIndex(client: pg.Client, { index, on }: IndexStep): Promise<void> {
  const { rows } = await client.query<{ indisvalid: boolean }>(
    'SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [index],
  );
  const [known] = rows;
  if (known?.indisvalid) return;
  if (known !== undefined) await client.query(`DROP INDEX CONCURRENTLY ${index}`);
  await client.query(`CREATE INDEX CONCURRENTLY ${index} ON ${on}`);
}
