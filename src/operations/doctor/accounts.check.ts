// Checks that every accepted delivery is accounted for. A loss cannot be mended, so the finding has only the number of
// lost deliveries.
import type { Check } from './finding.ts';

/**
 * Recent accepted deliveries. `lost`: without a row. `stranded`: unfinished, but no workflow or outbox row works on
 * them.
 */
export type Standing = { readonly lost: number; readonly stranded: number };

/** @param options.read returns the latest accounts */
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
