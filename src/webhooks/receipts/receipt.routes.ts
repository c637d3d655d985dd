// The routes of receipts: who has acknowledged that an agent's access has ended.
import type { AgentService } from '../../identity/agents/agent.service.ts';
import { ok, page } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { WorkflowPlace } from '../deliveries/delivery.ts';
import {
  presentEntry,
  presentReceipt,
  receiptListQuery,
  receiptListSchema,
  receiptParams,
  receiptSchema,
  receiptsParams,
  receiverCountQuery,
  receiverCountSchema,
} from './receipt.schemas.ts';
import type { ReceiptService } from './receipt.service.ts';

/** @param workflows address of Temporal's web UI */
export function createReceiptRoutes({
  receipts,
  agents,
  workflows,
}: {
  receipts: Pick<ReceiptService, 'get' | 'list' | 'countReceivers'>;
  agents: Pick<AgentService, 'existed'>;
  workflows: WorkflowPlace;
}): Route[] {
  return defineRoutes({ tag: 'Agents', scope: 'agents:read' }, [
    {
      method: 'GET',
      path: '/api/v1/agents/:agent_id/receipts',
      operationId: 'listAgentReceipts',
      summary: "List what ended an agent's access, the newest first",
      description:
        'A suspension, a deletion, the revocation of a key or of a delegation. Deleted agents have theirs for 30 days.',
      request: { params: receiptsParams, query: receiptListQuery },
      exists: (context, { agent_id }) => agents.existed(context, agent_id),
      responses: { 200: { description: 'A page of receipts', schema: receiptListSchema } },
      handler: async ({ context, params, query }) =>
        page(await receipts.list(context, params.agent_id, query), presentEntry),
    },
    {
      method: 'GET',
      path: '/api/v1/agents/:agent_id/receivers',
      operationId: 'countAgentReceivers',
      summary: "Count who would be told that an agent's access has ended",
      description: 'Webhooks and streams that ask for the event now: whom its receipt will follow.',
      request: { params: receiptsParams, query: receiverCountQuery },
      exists: (context, { agent_id }) => agents.existed(context, agent_id),
      responses: { 200: { description: 'Their number', schema: receiverCountSchema } },
      handler: async ({ context, params: { agent_id }, query: { cause } }) =>
        ok({ cause, agent_id, receivers: await receipts.countReceivers(context, agent_id, cause) }),
    },

    {
      method: 'GET',
      path: '/api/v1/agents/:agent_id/receipts/:receipt_id',
      operationId: 'getAgentReceipt',
      summary: "Read which receivers have acknowledged that an agent's access has ended",
      request: { params: receiptParams },
      responses: { 200: { description: 'The receipt', schema: receiptSchema } },
      handler: async ({ context, params }) => {
        const receipt = await receipts.get(context, { agentId: params.agent_id, id: params.receipt_id });
        return ok(presentReceipt(receipt, workflows));
      },
    },
  ]);
}
