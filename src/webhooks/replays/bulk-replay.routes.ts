// The routes of bulk replays.

import type { RequestContext } from '../../platform/context.ts';
import { accepted, locate, ok, page } from '../../platform/http/answers.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { WorkflowPlace } from '../deliveries/delivery.ts';
import { subscriptionParams } from '../subscriptions/subscription.schemas.ts';
import type { SubscriptionService } from '../subscriptions/subscription.service.ts';
import {
  bulkReplayBody,
  bulkReplayListQuery,
  bulkReplayListSchema,
  bulkReplayParams,
  bulkReplayPreviewSchema,
  bulkReplaySchema,
  presentBulkReplay,
} from './bulk-replay.schemas.ts';
import type { BulkReplayService } from './bulk-replay.service.ts';
import type { BulkReplay } from './bulk-replay.ts';

const ROOT = '/api/v1/webhooks/:id/replays';

/** Source: Specification, "Webhook management". @param options.workflows address and namespace of Temporal's UI */
export function createBulkReplayRoutes({
  bulkReplays,
  subscriptions,
  workflows,
}: {
  bulkReplays: BulkReplayService;
  subscriptions: Pick<SubscriptionService, 'exists'>;
  workflows: WorkflowPlace;
}): Route[] {
  const hasSubscription = (context: RequestContext, { id }: { id: string }) =>
    subscriptions.exists(context, id);

  const present = (replay: BulkReplay) => presentBulkReplay(replay, workflows);

  return defineRoutes({ tag: 'Webhooks', read: 'webhooks:read', write: 'webhooks:write' }, [
    {
      method: 'POST',
      path: '/api/v1/webhooks/:id/replay',
      operationId: 'replayWebhook',
      summary: 'Replay deliveries of a subscription that have ended, or count them',
      description:
        'Each is replayed like one by hand, the oldest first and paced: with the same id, attempt numbers that go on, and the schedule from its beginning. Which ones is settled when it begins. One replay a subscription at a time.',
      idempotent: true,
      request: { params: subscriptionParams, body: bulkReplayBody },
      exists: hasSubscription,
      responses: {
        200: { description: 'With `dry_run`: how many there are', schema: bulkReplayPreviewSchema },
        202: {
          description: 'The bulk replay, which goes on',
          schema: bulkReplaySchema,
          headers: ['location'],
        },
      },
      errors: ['subscription_inactive', 'conflict'],
      handler: async ({ context, params, body }) => {
        const { dry_run: dryRun, ...request } = body;
        if (dryRun) {
          const matched = await bulkReplays.preview(context, params.id, request);
          return ok({ dry_run: true, matched });
        }
        const replay = await bulkReplays.begin(context, params.id, request);
        return accepted(
          present(replay),
          locate(context, `/api/v1/webhooks/${params.id}/replays/${replay.id}`),
        );
      },
    },

    {
      method: 'GET',
      path: ROOT,
      operationId: 'listWebhookReplays',
      summary: 'List bulk replays of a subscription, the newest first',
      request: { params: subscriptionParams, query: bulkReplayListQuery },
      exists: hasSubscription,
      responses: { 200: { description: 'A page of bulk replays', schema: bulkReplayListSchema } },
      handler: async ({ context, params, query }) =>
        page(await bulkReplays.list(context, params.id, query), present),
    },

    {
      method: 'GET',
      path: `${ROOT}/:replay_id`,
      operationId: 'getWebhookReplay',
      summary: 'Read how far a bulk replay is, and what has become of its deliveries',
      request: { params: bulkReplayParams },
      responses: { 200: { description: 'The bulk replay', schema: bulkReplaySchema } },
      handler: async ({ context, params }) =>
        ok(present(await bulkReplays.get(context, params.id, params.replay_id))),
    },

    {
      method: 'POST',
      path: `${ROOT}/:replay_id/cancel`,
      operationId: 'cancelWebhookReplay',
      summary: 'Replay nothing more; what has begun anew goes on',
      request: { params: bulkReplayParams, body: noFields },
      exists: (context, { id, replay_id }) => bulkReplays.exists(context, id, replay_id),
      responses: { 200: { description: 'The bulk replay, canceled', schema: bulkReplaySchema } },
      errors: ['conflict'],
      handler: async ({ context, params }) =>
        ok(present(await bulkReplays.cancel(context, params.id, params.replay_id))),
    },
  ]);
}
