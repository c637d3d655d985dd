// Brings a database to the newest schema. Safe to run from several processes at once, and again and again.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { QueryTypes, Sequelize } from 'sequelize';
import { Umzug } from 'umzug';
import { newClient } from './client.ts';
import { translateDatabaseError } from './errors.ts';
import { type MigrationStep, takeSteps } from './migration-steps.ts';
import { identity } from './migrations/0001-identity.ts';
import { accounts } from './migrations/0002-accounts.ts';
import { events } from './migrations/0003-events.ts';
import { auditCheckpoints } from './migrations/0004-audit-checkpoints.ts';
import { dpop } from './migrations/0005-dpop.ts';
import { delegations } from './migrations/0006-delegations.ts';
import { tokens } from './migrations/0007-tokens.ts';
import { enrollments } from './migrations/0008-enrollments.ts';
import { keyRotations } from './migrations/0009-key-rotations.ts';
import { anchors } from './migrations/0010-anchors.ts';
import { keyAliases } from './migrations/0011-key-aliases.ts';
import { recoverySettings } from './migrations/0012-lane-recovery.ts';
import { eventFeed } from './migrations/0013-event-feed.ts';
import { endpointRecovery } from './migrations/0014-endpoint-recovery.ts';
import { webhookControl } from './migrations/0015-webhook-control.ts';
import { retention } from './migrations/0016-retention.ts';
import { expectedWorkflows } from './migrations/0017-expected-workflows.ts';
import { anchorChecks } from './migrations/0018-anchor-checks.ts';
import { challengeExpiry } from './migrations/0019-challenge-expiry.ts';
import { tenantSuspension } from './migrations/0020-tenant-suspension.ts';
import { issuerKeySchedule } from './migrations/0021-issuer-keys.ts';
import { traces } from './migrations/0022-traces.ts';
import { hostHolds } from './migrations/0023-host-holds.ts';
import { delegationExpiry } from './migrations/0024-delegation-expiry.ts';
import { anchorTurns } from './migrations/0025-anchor-turns.ts';
import { sealingKeys } from './migrations/0026-sealing-keys.ts';
import { operatorActChain } from './migrations/0027-operator-act-chain.ts';
import { ensurePartitions } from './partitions.ts';

/** In order, for ever: an entry is never edited once it was released. `sql`: one transaction, or steps. */
const MIGRATIONS: readonly { readonly name: string; readonly sql: string | readonly MigrationStep[] }[] = [
  { name: '0001-identity', sql: identity },
  { name: '0002-accounts', sql: accounts },
  { name: '0003-events', sql: events },
  { name: '0004-audit-checkpoints', sql: auditCheckpoints },
  { name: '0005-dpop', sql: dpop },
  { name: '0006-delegations', sql: delegations },
  { name: '0007-tokens', sql: tokens },
  { name: '0008-enrollments', sql: enrollments },
  { name: '0009-key-rotations', sql: keyRotations },
  { name: '0010-anchors', sql: anchors },
  { name: '0011-key-aliases', sql: keyAliases },
  { name: '0012-lane-recovery', sql: recoverySettings },
  { name: '0013-event-feed', sql: eventFeed },
  { name: '0014-endpoint-recovery', sql: endpointRecovery },
  { name: '0015-webhook-control', sql: webhookControl },
  { name: '0016-retention', sql: retention },
  { name: '0017-expected-workflows', sql: expectedWorkflows },
  { name: '0018-anchor-checks', sql: anchorChecks },
  { name: '0019-challenge-expiry', sql: challengeExpiry },
  { name: '0020-tenant-suspension', sql: tenantSuspension },
  { name: '0021-issuer-keys', sql: issuerKeySchedule },
  { name: '0022-traces', sql: traces },
  { name: '0023-host-holds', sql: hostHolds },
  { name: '0024-delegation-expiry', sql: delegationExpiry },
  { name: '0025-anchor-turns', sql: anchorTurns },
  { name: '0026-sealing-keys', sql: sealingKeys },
  { name: '0027-operator-act-chain', sql: operatorActChain },
];

/** Any constant: the advisory lock that lets one migration run at a time. */
const LOCK = 7_263_511;

/**
 * @param url connection string of the database
 * @param log told each migration's name as it runs
 * @returns the names that were applied now
 */
export async function migrate(
  url: string,
  log: (message: string) => void = () => undefined,
): Promise<string[]> {
  const guard = newClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  const sequelize = new Sequelize(url, { dialect: 'postgres', logging: false, pool: { max: 1 } });
  try {
    await guard.connect();
    await takeTurn(guard);
    const done = await migrations(sequelize, log).up();
    await ensurePartitions({
      query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
        const rows = await sequelize.query<Row>(text, { bind: [...values], type: QueryTypes.SELECT });
        return { rows, rowCount: rows.length };
      },
    });
    return done.map((migration) => migration.name);
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await Promise.allSettled([guard.end(), sequelize.close()]);
  }
}

/** Asks again and again, as the building of an index waits for every statement, also for one that waits for this lock. */
async function takeTurn(guard: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await guard.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [LOCK]);
    if (rows[0]?.held) return;
    await setTimeout(200);
  }
}

/** Names of migrations that this version knows and the database has not had yet. */
export async function pendingMigrations(sequelize: Sequelize): Promise<string[]> {
  const pending = await migrations(sequelize, () => undefined).pending();
  return pending.map((migration) => migration.name);
}

function migrations(sequelize: Sequelize, log: (message: string) => void) {
  return new Umzug({
    migrations: MIGRATIONS.map(({ name, sql }) => ({
      name,
      up: async () => {
        log(name);
        await takeSteps(sequelize, name, typeof sql === 'string' ? [sql] : sql);
      },
    })),
    storage: {
      executed: async () => {
        await sequelize.query(
          'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
        );
        const rows = await sequelize.query<{ name: string }>(
          "SELECT name FROM schema_migrations WHERE name NOT LIKE '%#%' ORDER BY name",
          { type: QueryTypes.SELECT },
        );
        return rows.map((row) => row.name);
      },
      logMigration: async ({ name }) => {
        await sequelize.query('INSERT INTO schema_migrations (name) VALUES ($1)', { bind: [name] });
        await sequelize.query('DELETE FROM schema_migrations WHERE starts_with(name, $1)', {
          bind: [`${name}#`],
        });
      },
      unlogMigration: async () => {
        throw new Error('Migrations are never undone: write a new one.');
      },
    },
    logger: undefined,
  });
}
