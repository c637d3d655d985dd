// The examinations that read a few rows and mend nothing: a person, or a worker that runs, mends what they find.
import type { OpenTransaction } from '../../audit/open-transaction.store.ts';
import type { KeyInUse } from '../../platform/database/sealed-column.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { type Archive, findAhead, findStrongProcesses, readArchive } from './cluster.store.ts';
import type { Check, Finding } from './finding.ts';

/** Seconds. The service's own transactions end much earlier, by their time-outs. */
const LONGEST_TRANSACTION = 60;

const CONSEQUENCES: Readonly<Record<string, string>> = {
  audit_head: 'nothing more of the audit log is sealed',
  audit_log: 'rows of the audit log are not sealed',
  events: 'the event feed does not show them',
};

/**
 * Recent accepted deliveries. `lost`: without a row. `stranded`: unfinished, but no workflow or outbox row works on
 * them.
 */
export type Standing = { readonly lost: number; readonly stranded: number };

/** @param count objects that are looked at */
function createReadingCheck(
  name: string,
  title: string,
  read: () => Promise<readonly Omit<Finding, 'check'>[]>,
  count = 1,
): Check {
  return {
    name,
    title,
    examine: async ({ found, looked }) => {
      const findings = await read();
      looked(count);
      for (const finding of findings) await found(finding);
    },
  };
}

/**
 * Checks that transaction ids have not gone back, as they do when a dump is restored into a new cluster. The event feed
 * and the sealer go in the order of transactions.
 */
export const createTransactionIdsCheck = (database: Queryable): Check =>
  createReadingCheck(
    'transactionIds',
    'the transaction ids of this cluster',
    async () =>
      (await findAhead(database)).map(({ table, missing }) => ({
        code: 'transaction_ids_behind',
        subject: table,
        detail: `its rows are up to ${missing} transactions ahead of this cluster, and until then ${CONSEQUENCES[table]}: docs/operations/backup.md`,
      })),
    Object.keys(CONSEQUENCES).length,
  );

/** Checks that no transaction has been open in the cluster for long: the audit log is sealed as far as all ended. */
export const createOpenTransactionCheck = (
  findOldestOpen: () => Promise<OpenTransaction | undefined>,
): Check =>
  createReadingCheck('openTransactions', 'the oldest open transaction of the cluster', async () => {
    const open = await findOldestOpen();
    if (open === undefined || open.seconds < LONGEST_TRANSACTION) return [];
    const detail = `a transaction of ${open.role} in the database ${open.database} has been open for ${Math.floor(open.seconds)} s, and what was written to the audit log since is not sealed: docs/operations/alerts.md#countersignauditheldback`;
    return [{ code: 'transaction_open', subject: open.pid, detail }];
  });

/** Checks that Postgres archives its WAL where it is told to: a restore ends before a file that is missing. */
export const createArchiveCheck = (
  database: Queryable,
  read: (database: Queryable) => Promise<Archive | undefined> = readArchive,
): Check =>
  createReadingCheck('walArchive', 'the archive of the WAL', async () => {
    const failed = (await read(database))?.failed;
    if (!failed) return [];
    const detail = `Postgres could not archive it at ${failed.at}, and keeps all WAL since on its disk: docs/operations/backup.md#to-a-minute`;
    return [{ code: 'wal_not_archived', subject: failed.file, detail }];
  });

/**
 * Checks that api and worker connect as a role that cannot change the audit log, where there is one
 * (docs/decisions/0023-database-roles.md).
 */
export const createDatabaseRoleCheck = (database: Queryable): Check =>
  createReadingCheck('databaseRole', 'the database role of api and worker', async () =>
    (await findStrongProcesses(database)).map(({ process, role, sessions }) => ({
      code: 'database_role_too_strong',
      subject: process,
      detail: `${sessions} sessions connect as ${role}, which may change the audit log: set DATABASE_URL to the role of DATABASE_ROLE (docs/deployment.md)`,
    })),
  );

/**
 * Checks whether the sweep of challenges is late. The service refuses overdue challenges in any case; the sweep writes
 * their audit entries.
 * @param findOverdue returns the end of the oldest challenge that is late for the sweep, or null
 */
export const createChallengeExpiryCheck = (findOverdue: () => Promise<Date | null>): Check =>
  createReadingCheck('challengeExpiry', 'challenges that ended unused', async () => {
    const oldest = await findOverdue();
    if (oldest === null) return [];
    const detail = `nobody has swept what ended at ${oldest.toISOString()} and later; the next minute's challenge-expiry/… does: does a worker run?`;
    return [{ code: 'sweep_behind', subject: 'challenges', detail }];
  });

/**
 * Checks that every master key with which a stored secret is sealed is present. Without this check, a missing key would
 * show only at the next use of a secret.
 * @param listMissingKeys returns the master keys of stored secrets that the settings lack
 */
export const createSealedSecretsCheck = (listMissingKeys: () => Promise<readonly KeyInUse[]>): Check =>
  createReadingCheck('sealedSecrets', 'the master keys that sealed secrets name', async () =>
    (await listMissingKeys()).map(({ table, column, keyId }) => ({
      code: 'master_key_missing',
      subject: `${table}.${column}`,
      detail: `has secrets that are sealed with the master key ${keyId}, which is not in MASTER_KEY: nobody can open them`,
    })),
  );

/** Checks that every accepted delivery is accounted for. A loss cannot be mended, so the finding has only a number. */
export const createAccountsCheck = (readStanding: () => Promise<Standing>): Check =>
  createReadingCheck('accounts', 'the accounts of deliveries', async () => {
    const { lost, stranded } = await readStanding();
    const subject = 'delivery_accounts';
    return [
      { code: 'deliveries_lost', subject, detail: `${lost} were accepted and are not there`, count: lost },
      { code: 'deliveries_stranded', subject, detail: `nothing moves ${stranded} of them`, count: stranded },
    ].flatMap(({ count, ...finding }) => (count > 0 ? [finding] : []));
  });
