// The routes of bulk replays, which the API calls recoveries.

import type { RequestContext } from '../../platform/context.ts';
import { accepted, locate, ok, page } from '../../platform/http/answers.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { WorkflowPlace } from '../deliveries/delivery.ts';
import { subscriptionParams } from '../subscriptions/subscription.schemas.ts';
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
import type { BulkReplayService } from './bulk-replay.service.ts';
import type { BulkReplay } from './bulk-replay.ts';

const ROOT = '/api/v1/webhooks/:id/recoveries';

/** Source: Specification, "Webhook management". @param options.workflows address and namespace of Temporal's UI */
export function createBulkReplayRoutes({
  recoveries,
  subscriptions,
  workflows,
}: {
  recoveries: BulkReplayService;
  subscriptions: Pick<SubscriptionService, 'exists'>;
  workflows: WorkflowPlace;
}): Route[] {
  const hasSubscription = (context: RequestContext, { id }: { id: string }) =>
    subscriptions.exists(context, id);

  const present = (recovery: BulkReplay) => presentRecovery(recovery, workflows);

  return defineRoutes({ tag: 'Webhooks', read: 'webhooks:read', write: 'webhooks:write' }, [
    {
      method: 'POST',
      path: '/api/v1/webhooks/:id/recover',
      operationId: 'recoverWebhook',
      summary: 'Replay deliveries of a subscription that have ended, or count them',
      description:
        'Each is replayed like one by hand, the oldest first and paced: with the same id, attempt numbers that go on, and the schedule from its beginning. Which ones is settled when it begins. One recovery a subscription at a time.',
      idempotent: true,
      request: { params: subscriptionParams, body: recoverBody },
      exists: hasSubscription,
      responses: {
        200: { description: 'With `dry_run`: how many there are', schema: recoveryPreviewSchema },
        202: { description: 'The recovery, which goes on', schema: recoverySchema, headers: ['location'] },
      },
      errors: ['subscription_inactive', 'conflict'],
      handler: async ({ context, params, body }) => {
        const { dry_run: dryRun, ...request } = body;
        if (dryRun) {
          const matched = await recoveries.preview(context, params.id, request);
          return ok({ dry_run: true, matched });
        }
        const recovery = await recoveries.begin(context, params.id, request);
        return accepted(
          present(recovery),
          locate(context, `/api/v1/webhooks/${params.id}/recoveries/${recovery.id}`),
        );
      },
    },

    {
      method: 'GET',
      path: ROOT,
      operationId: 'listWebhookRecoveries',
      summary: 'List recoveries of a subscription, the newest first',
      request: { params: subscriptionParams, query: recoveryListQuery },
      exists: hasSubscription,
      responses: { 200: { description: 'A page of recoveries', schema: recoveryListSchema } },
      handler: async ({ context, params, query }) =>
        page(await recoveries.list(context, params.id, query), present),
    },

    {
      method: 'GET',
      path: `${ROOT}/:recovery_id`,
      operationId: 'getWebhookRecovery',
      summary: 'Read how far a recovery is',
      request: { params: recoveryParams },
      responses: { 200: { description: 'The recovery', schema: recoverySchema } },
      handler: async ({ context, params }) =>
        ok(present(await recoveries.get(context, params.id, params.recovery_id))),
    },

    {
      method: 'POST',
      path: `${ROOT}/:recovery_id/cancel`,
      operationId: 'cancelWebhookRecovery',
      summary: 'Replay nothing more; what has begun anew goes on',
      request: { params: recoveryParams, body: noFields },
      exists: (context, { id, recovery_id }) => recoveries.exists(context, id, recovery_id),
      responses: { 200: { description: 'The recovery, canceled', schema: recoverySchema } },
      errors: ['conflict'],
      handler: async ({ context, params }) =>
        ok(present(await recoveries.cancel(context, params.id, params.recovery_id))),
    },
  ]);
}
