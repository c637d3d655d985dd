// The activities of accessReceipt. Each calls one use case.
import type {
  ReceiptName,
  ReceiptService,
  ReceiptStanding,
} from '../src/webhooks/receipts/receipt.service.ts';

export function createAccessReceiptActivities({
  receipts,
}: {
  receipts: Pick<ReceiptService, 'look' | 'complete'>;
}) {
  return {
    readReceipt: (name: ReceiptName): Promise<ReceiptStanding> => receipts.look(name),

    completeReceipt: (name: ReceiptName): Promise<ReceiptStanding> => receipts.complete(name),
  };
}

export type AccessReceiptActivities = ReturnType<typeof createAccessReceiptActivities>;
