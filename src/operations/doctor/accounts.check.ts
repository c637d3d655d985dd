// Checks that every accepted delivery is accounted for. A loss cannot be mended: the finding has the number of
// deliveries, the log of retention their accounts.
import type { Check } from './finding.ts';

/**
 * Recent accepted deliveries: `lost` ones have no row any more; `stranded` ones are unfinished and nothing works on
 * them.
 */
export type Standing = { readonly lost: number; readonly stranded: number };

/** @param options.read the accounts of the latest count */
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
