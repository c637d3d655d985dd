// The routes of recoveries. They must never decide anything: shapes in, one service call, shapes out.
import type { RequestContext } from '../../platform/context.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import type { WorkflowPlace } from '../deliveries/delivery.ts';
import { noFields, subscriptionParams } from '../subscriptions/subscription.schemas.ts';
import type { SubscriptionService } from '../subscriptions/subscription.service.ts';
import {
  presentRecovery,
  recoverBody,
  recoveryListQuery,
  recoveryListSchema,
  recoveryParams,
  recoveryPreviewSchema,
  recoverySchema,
} from './bulk-replay.schemas.ts';
import type { BulkRecoveryService } from './bulk-replay.service.ts';

const TAG = 'Webhooks';
const ROOT = '/api/v1/webhooks/:id/recoveries';

/** Source: Specification, "Webhook management". @param workflows where the workflows of recoveries can be looked at */
export function createRecoveryRoutes({
  recoveries,
  subscriptions,
  workflows,
}: {
  recoveries: BulkRecoveryService;
  subscriptions: Pick<SubscriptionService, 'exists'>;
  workflows: WorkflowPlace;
}): Route[] {
  const hasSubscription = (context: RequestContext, { id }: { id: string }) =>
    subscriptions.exists(context, id);

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/webhooks/:id/recover',
      operationId: 'recoverWebhook',
      summary: 'Replay deliveries of a subscription that have ended, or count them',
      description:
        'Each is replayed like one by hand, the oldest first and paced: with the same id, attempt numbers that go on, and the schedule from its beginning. Which ones is settled when it begins. One recovery a subscription at a time.',
      tag: TAG,
      scope: 'webhooks:write',
      idempotent: true,
      request: { params: subscriptionParams, body: recoverBody },
      exists: hasSubscription,
      responses: {
        200: { description: 'With `dry_run`: how many there are', schema: recoveryPreviewSchema },
        202: { description: 'The recovery, which goes on', schema: recoverySchema, headers: ['location'] },
      },
      errors: ['not_found', 'subscription_inactive', 'conflict'],
      handler: async ({ context, params, body }) => {
        const { dry_run: dryRun, ...request } = body;
        if (dryRun) {
          const matched = await recoveries.preview(context, params.id, request);
          return { status: 200, body: { dry_run: true, matched } };
        }
        const recovery = await recoveries.begin(context, params.id, request);
        const { baseUrl } = context.tenant;
        return {
          status: 202,
          headers: { location: `${baseUrl}/api/v1/webhooks/${params.id}/recoveries/${recovery.id}` },
          body: presentRecovery(recovery, workflows),
        };
      },
    }),

    defineRoute({
      method: 'GET',
      path: ROOT,
      operationId: 'listWebhookRecoveries',
      summary: 'List recoveries of a subscription, the newest first',
      tag: TAG,
      scope: 'webhooks:read',
      request: { params: subscriptionParams, query: recoveryListQuery },
      exists: hasSubscription,
      responses: { 200: { description: 'A page of recoveries', schema: recoveryListSchema } },
      errors: ['not_found'],
      handler: async ({ context, params, query }) => {
        const page = await recoveries.list(context, params.id, query);
        return {
          status: 200,
          body: {
            data: page.data.map((recovery) => presentRecovery(recovery, workflows)),
            next_cursor: page.nextCursor,
          },
        };
      },
    }),

    defineRoute({
      method: 'GET',
      path: `${ROOT}/:recovery_id`,
      operationId: 'getWebhookRecovery',
      summary: 'Read how far a recovery is',
      tag: TAG,
      scope: 'webhooks:read',
      request: { params: recoveryParams },
      responses: { 200: { description: 'The recovery', schema: recoverySchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => {
        const recovery = await recoveries.get(context, params.id, params.recovery_id);
        return { status: 200, body: presentRecovery(recovery, workflows) };
      },
    }),

    defineRoute({
      method: 'POST',
      path: `${ROOT}/:recovery_id/cancel`,
      operationId: 'cancelWebhookRecovery',
      summary: 'Replay nothing more; what has begun anew goes on',
      tag: TAG,
      scope: 'webhooks:write',
      request: { params: recoveryParams, body: noFields },
      exists: (context, { id, recovery_id }) => recoveries.exists(context, id, recovery_id),
      responses: { 200: { description: 'The recovery, canceled', schema: recoverySchema } },
      errors: ['not_found', 'conflict'],
      handler: async ({ context, params }) => {
        const recovery = await recoveries.cancel(context, params.id, params.recovery_id);
        return { status: 200, body: presentRecovery(recovery, workflows) };
      },
    }),
  ];
}
