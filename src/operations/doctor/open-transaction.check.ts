// Checks that no transaction has been open in the cluster for long: the audit log is sealed as far as all have ended.
import type { OpenTransaction } from '../../audit/open-transaction.store.ts';
import type { Check } from './finding.ts';

/** The service's own transactions end much earlier, by their time-outs. */
const LONGEST_SECONDS = 60;

type OpenTransactionCheckNeeds = { findOldestOpen: () => Promise<OpenTransaction | undefined> };

export function createOpenTransactionCheck({ findOldestOpen }: OpenTransactionCheckNeeds): Check {
  return {
    name: 'openTransactions',
    title: 'the oldest open transaction of the cluster',
    examine: async ({ found, looked }) => {
      const open = await findOldestOpen();
      looked(1);
      if (open === undefined || open.seconds < LONGEST_SECONDS) return;
      await found({
        code: 'transaction_open',
        subject: open.pid,
        detail: `a transaction of ${open.role} in the database ${open.database} has been open for ${Math.floor(open.seconds)} s, and what was written to the audit log since is not sealed: docs/operations/alerts.md#countersignauditheldback`,
      });
    },
  };
}
