// Wires receipts: their opening with the event, their routes, and the steps of their workflow.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createReceiptRoutes } from './receipt.routes.ts';
import { createReceiptService } from './receipt.service.ts';
import * as store from './receipt.store.ts';

export function wireReceipts(
  { config, database }: Platform,
  rooms: Needs<typeof createReceiptService, 'database'> &
    Needs<typeof createReceiptRoutes, 'receipts' | 'workflows'>,
) {
  const receipts = createReceiptService({ ...rooms, database });
  return { receipts, routes: createReceiptRoutes({ ...rooms, receipts, workflows: config.temporal }) };
}

export { listExpectedWorkflows as listReceipts } from './receipt.store.ts';
export { createReceiptOpening as wireReceiptOpening } from './receipt-opening.service.ts';

export const purgesOfReceipts = ({ keptDays }: { keptDays: number }) => ({
  receipts: (queryable: Parameters<typeof store.purge>[0], limit: number) =>
    store.purge(queryable, keptDays + 2, limit),
});
