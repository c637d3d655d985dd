// Looks whether every accepted delivery is accounted for. Nothing can mend a loss: it says how much, and the log of retention says whose.
import type { Check } from './finding.ts';

/** Deliveries of the last days that were accepted and are not there any more, or that nothing moves. */
export type Standing = { readonly lost: number; readonly stranded: number };

/** @param options.read the accounts as they were counted last */
export function createAccountsCheck({ read }: { read: () => Promise<Standing> }): Check {
  return {
    name: 'accounts',
    title: 'the accounts of deliveries',
    examine: async ({ found, looked }) => {
      const { lost, stranded } = await read();
      looked(1);
      const subject = 'delivery_accounts';
      if (lost > 0)
        await found({ code: 'deliveries_lost', subject, detail: `${lost} were accepted and are not there` });
      if (stranded > 0)
        await found({ code: 'deliveries_stranded', subject, detail: `nothing moves ${stranded} of them` });
    },
  };
}
