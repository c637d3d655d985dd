// Runs the steps of one migration while the previous version serves. A table is blocked only for a moment, and each
// step runs once.
import { QueryTypes, type Sequelize } from 'sequelize';
import { repeatWhileLocked } from './locked-change.ts';

/** An index with its table and columns. It is built without a lock that blocks writes. */
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
  sequelize: Sequelize,
  name: string,
  steps: readonly MigrationStep[],
): Promise<void> {
  for (const [n, step] of steps.entries())
    if (typeof step === 'string') await takeTransaction(sequelize, `${name}#${n + 1}`, step);
    else await buildIndex(sequelize, step);
}

async function takeTransaction(sequelize: Sequelize, mark: string, sql: string): Promise<void> {
  const take = () =>
    sequelize.transaction(async (transaction) => {
      await sequelize.query(`SET LOCAL lock_timeout = ${PATIENCE.lockTimeout}`, { transaction });
      const [, taken] = await sequelize.query(
        'INSERT INTO schema_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING',
        { bind: [mark], transaction, type: QueryTypes.INSERT },
      );
      if (taken === 1) await sequelize.query(sql, { transaction, raw: true });
    });
  await repeatWhileLocked(take, PATIENCE);
}

/** An interrupted build leaves an invalid index, which is written but never read. It is dropped and built again. */
async function buildIndex(sequelize: Sequelize, { index, on }: IndexStep): Promise<void> {
  const [known] = await sequelize.query<{ indisvalid: boolean }>(
    'SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)',
    { bind: [index], type: QueryTypes.SELECT },
  );
  if (known?.indisvalid) return;
  if (known !== undefined) await sequelize.query(`DROP INDEX CONCURRENTLY ${index}`);
  await sequelize.query(`CREATE INDEX CONCURRENTLY ${index} ON ${on}`);
}
