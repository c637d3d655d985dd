// The link from the answer to a change that ended access to its receipt.
import type { RequestContext } from '../../platform/context.ts';

/**
 * @param receiptId of the change; undefined where nothing has changed
 * @returns the header `Link` with `rel="receipt"` (RFC 8288), or no header
 */
export function linkToReceipt(
  { tenant }: Pick<RequestContext, 'tenant'>,
  agentId: string,
  receiptId: string | undefined,
): { link?: string } {
  const link = `<${tenant.baseUrl}/api/v1/agents/${agentId}/receipts/${receiptId}>; rel="receipt"`;
  return receiptId === undefined ? {} : { link };
}
