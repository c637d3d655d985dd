// The route that lists the daily accounts of deliveries.
import { z } from 'zod';
import { ok } from '../../platform/http/answers.ts';
import { present } from '../../platform/http/present.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import type { AccountReadingService } from './account-reading.service.ts';
import type { HourReadingService } from './hour-count.service.ts';

const day = z.iso.date();
const count = z.int().min(0);

const accountsQuery = z.object({
  since: day.optional().meta({ description: 'This UTC day and later ones.' }),
  until: day.optional().meta({ description: 'Days before this one.' }),
});

export const accountSchema = z
  .object({
    day: day.meta({ description: 'The UTC day on which the deliveries were accepted.' }),
    accepted: count.meta({ description: 'Told by the events, not counted from the deliveries.' }),
    delivered: count,
    waiting: count.meta({ description: 'Not ended: a first attempt or a retry will come.' }),
    held: count.meta({ description: 'Untried, while the endpoint takes no deliveries.' }),
    failed: count,
    canceled: count,
    difference: z
      .int()
      .meta({ description: 'accepted less the five others. Anything but 0 is a fault of this service.' }),
    stranded: count.meta({
      description: 'Of the difference: deliveries that have not ended, and that nothing would move any more.',
    }),
    counted_at: z.iso.datetime(),
  })
  .meta({ id: 'DeliveryAccount' });

const accountListSchema = z.object({ data: z.array(accountSchema) }).meta({ id: 'DeliveryAccountList' });

const MOST_SUBSCRIPTIONS = 200;

const hoursQuery = z.object({
  subscription_ids: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.uuid()).max(MOST_SUBSCRIPTIONS))
    .optional()
    .meta({ description: `Ids of subscriptions, with commas between, at most ${MOST_SUBSCRIPTIONS}.` }),
});

const counts = z.array(count);

export const hourListSchema = z
  .object({
    hours: z.array(z.iso.datetime()).meta({ description: 'When each of the 24 hours begins.' }),
    data: z.array(
      z.object({
        subscription_id: z.uuid().nullable().meta({ description: 'Null: the sum of all.' }),
        delivered: counts.meta({ description: 'A number for each of the hours; so are the others.' }),
        failed: counts,
        canceled: counts,
        unfinished: counts.meta({ description: 'An attempt will come, or is held.' }),
      }),
    ),
    counted_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'DeliveryHourList' });

/** Source: Specification, "Delivery": no accepted delivery is lost. */
export function createAccountRoutes({
  accounts,
  hours,
}: {
  accounts: AccountReadingService;
  hours: HourReadingService;
}): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/delivery-accounts',
      operationId: 'listDeliveryAccounts',
      summary: 'List what became of the deliveries of each day',
      description:
        'One account for each UTC day on which deliveries were accepted, the newest first, kept for 400 days. Today and yesterday are counted every 15 minutes, older days once a day.',
      tag: 'Webhooks',
      scope: 'webhooks:read',
      request: { query: accountsQuery },
      responses: { 200: { description: 'The accounts', schema: accountListSchema } },
      handler: async ({ context, query }) => {
        const { since, until } = query;
        const found = await accounts.list(context, { since, until });
        return ok({ data: found.map((account) => present(accountSchema, account)) });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/delivery-hours',
      operationId: 'listDeliveryHours',
      summary: 'List what became of the deliveries of the last 24 hours',
      description:
        'By the hour of acceptance, the oldest first: the sum of all subscriptions, or a row for each that is named. The present hour and the one before are counted each minute, the others every 15 minutes.',
      tag: 'Webhooks',
      scope: 'webhooks:read',
      request: { query: hoursQuery },
      responses: { 200: { description: 'The hours', schema: hourListSchema } },
      handler: async ({ context, query }) =>
        ok(present(hourListSchema, await hours.list(context, query.subscription_ids))),
    }),
  ];
}
