// Checks that transaction ids have not gone back, as they do when a dump is restored into a new cluster. The event
// feed and the sealer go in the order of transactions.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { Check } from './finding.ts';
import type * as transactionIdsStore from './transaction-ids.store.ts';

const CONSEQUENCES: Readonly<Record<string, string>> = {
  audit_head: 'nothing more of the audit log is sealed',
  audit_log: 'rows of the audit log are not sealed',
  events: 'the event feed does not show them',
};

type TransactionIdsCheckNeeds = { database: Queryable; store: Pick<typeof transactionIdsStore, 'findAhead'> };

export function createTransactionIdsCheck({ database, store }: TransactionIdsCheckNeeds): Check {
  return {
    name: 'transactionIds',
    title: 'the transaction ids of this cluster',
    examine: async ({ found, looked }) => {
      looked(Object.keys(CONSEQUENCES).length);
      for (const { table, missing } of await store.findAhead(database))
        await found({
          code: 'transaction_ids_behind',
          subject: table,
          detail: `its rows are up to ${missing} transactions ahead of this cluster, and until then ${CONSEQUENCES[table]}: docs/operations/backup.md`,
        });
    },
  };
}
