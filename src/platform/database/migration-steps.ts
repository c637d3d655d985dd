// Runs the steps of one migration while the former version serves. It must never keep others from a table for longer than a moment, nor do
// a step's work twice.
import { setTimeout } from 'node:timers/promises';
import { QueryTypes, type Sequelize, type Transaction } from 'sequelize';
import { sqlState } from './errors.ts';

/** An index, and the table and columns that it is on; built without keeping anybody from the table, however large that is. */
export type IndexStep = { readonly index: string; readonly on: string };

/** SQL that is one transaction, or an index. */
export type MigrationStep = string | IndexStep;

/**
 * A step that waits for a lock keeps all from the table who come after it. So it gives up after `lockTimeout`, lets them pass, and tries
 * again after `pause`. Milliseconds.
 */
const PATIENCE = { lockTimeout: 1_000, pause: 1_000, tries: 60 } as const;

/**
 * Takes the steps that were not taken yet, one after the other. After a crash it goes on with the step that was under way.
 * @param name the migration's; `schema_migrations` holds a row `name#n` for each of its transactions that was committed
 */
export async function takeSteps(
  sequelize: Sequelize,
  name: string,
  steps: readonly MigrationStep[],
): Promise<void> {
  for (const [n, step] of steps.entries())
    if (typeof step === 'string') await takeTransaction(sequelize, `${name}#${n + 1}`, step);
    else await buildIndex(sequelize, step);
}

async function takeTransaction(sequelize: Sequelize, mark: string, sql: string): Promise<void> {
  const take = async (transaction: Transaction) => {
    const { lockTimeout } = PATIENCE;
    await sequelize.query(`SET LOCAL lock_timeout = ${lockTimeout}`, { transaction });
    const [, taken] = await sequelize.query(
      'INSERT INTO schema_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING',
      { bind: [mark], transaction, type: QueryTypes.INSERT },
    );
    if (taken === 1) await sequelize.query(sql, { transaction, raw: true });
  };
  for (let tries = 1; ; tries += 1)
    try {
      return await sequelize.transaction(take);
    } catch (error) {
      if (sqlState(error) !== '55P03' || tries >= PATIENCE.tries) throw error;
      await setTimeout(PATIENCE.pause);
    }
}

/** Building that was cut off leaves an index behind which is written to and never read: it is dropped, and built from the beginning. */
async function buildIndex(sequelize: Sequelize, { index, on }: IndexStep): Promise<void> {
  const [known] = await sequelize.query<{ indisvalid: boolean }>(
    'SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)',
    { bind: [index], type: QueryTypes.SELECT },
  );
  if (known?.indisvalid) return;
  if (known !== undefined) await sequelize.query(`DROP INDEX CONCURRENTLY ${index}`);
  await sequelize.query(`CREATE INDEX CONCURRENTLY ${index} ON ${on}`);
}
