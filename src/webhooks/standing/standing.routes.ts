// The route that says whether all is right.
import { z } from 'zod';
import { ok } from '../../platform/http/answers.ts';
import { present } from '../../platform/http/present.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { ENDPOINT_STATES } from '../endpoints/endpoint-state.ts';
import type { StandingService } from './standing.service.ts';
import { SEVERITIES } from './standing.ts';

const count = z.int().min(0);
const time = z.iso.datetime();
const severity = z.enum(SEVERITIES).meta({
  description:
    'critical: down or probing. warning: held, suspended, failing with three deliveries or more, deactivated by the service, or many failures: of the deliveries of 24 hours three or more have failed for good, and more than 1 in 20 of those that have ended. notice: fewer failures, or inactive while deliveries wait. none: nothing to do.',
});

export const standingSchema = z
  .object({
    severity: severity.meta({ description: 'The most urgent of all below.' }),
    summary: z.string().meta({ description: 'Whether all is right, in words.' }),
    subscriptions: count.meta({ description: 'All that are not deleted, streams with them.' }),
    in_trouble: count.meta({ description: 'Those with a severity other than none.' }),
    waiting: count.meta({ description: 'All deliveries that have not ended.' }),
    oldest_waiting_at: time.nullable().meta({ description: 'When the oldest of them was accepted.' }),
    states: z
      .array(
        z.object({
          state: z.enum(ENDPOINT_STATES),
          severity,
          subscriptions: count,
          streams: count.meta({ description: 'Of the subscriptions: those that are streams.' }),
          waiting: count,
          oldest_waiting_at: time.nullable(),
          oldest_canceled_at: time.nullable().meta({
            description: 'When the oldest is canceled if it still waits then: 30 days after its acceptance.',
          }),
        }),
      )
      .meta({ description: 'The subscriptions by state and severity. A state without any is absent.' }),
    failed_in_24_hours: z.object({
      deliveries: count.meta({ description: 'Those that have failed for good.' }),
      groups: count.meta({ description: 'By subscription and answer.' }),
      largest: z
        .array(
          z.object({
            subscription_id: z.uuid(),
            url: z.string().nullable().meta({ description: 'Null of a stream, or when it is deleted.' }),
            active: z.boolean().meta({ description: 'Deliveries of an inactive one cannot be replayed.' }),
            answer: z.string().meta({ description: 'Such as http:422 or timeout.' }),
            severity,
            deliveries: count,
            first_at: time,
            last_at: time,
          }),
        )
        .meta({ description: 'At most 50 groups, those of most deliveries first.' }),
    }),
  })
  .meta({ id: 'Standing' });

/** Source: Specification, "Webhook management". */
export function createStandingRoutes({ standing }: { standing: StandingService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/standing',
      operationId: 'getStanding',
      summary: 'Read whether all is right',
      description:
        'All numbers are of one moment, and of all subscriptions and deliveries. `GET /api/v1/webhooks` lists the subscriptions by `state` and `severity`.',
      tag: 'Webhooks',
      scope: 'webhooks:read',
      request: {},
      responses: { 200: { description: 'How the endpoints stand', schema: standingSchema } },
      handler: async ({ context }) => ok(present(standingSchema, await standing.read(context))),
    }),
  ];
}
