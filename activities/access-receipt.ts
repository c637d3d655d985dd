// The activities of accessReceipt. Each calls one use case.
import type { ReceiptService } from '../src/webhooks/receipts/receipt.service.ts';

export function createAccessReceiptActivities({
  receipts,
}: {
  receipts: Pick<ReceiptService, 'look' | 'complete'>;
}) {
  return { readReceipt: receipts.look, completeReceipt: receipts.complete };
}

export type AccessReceiptActivities = ReturnType<typeof createAccessReceiptActivities>;
