// Event types about webhooks themselves. None goes to the subscription that it is about, but a test.
import { z } from 'zod';
import { emitted, inCategory } from './event-type.ts';
import { count, EXAMPLE, id, moment, text } from './fields.ts';

const endpoint = z.strictObject({
  subscription_id: id('The subscription.'),
  host: text("Host of the receiver; the URL's path may carry a secret."),
  event_types: z.array(z.string()),
});
const fields = z.array(z.string()).describe('Names of the fields that were sent.');

const ENDPOINT = {
  subscription_id: EXAMPLE.subscriptionId,
  host: 'hooks.example.com',
  event_types: ['wallet.tx.signed'],
};

export const WEBHOOKS = inCategory('Webhooks', [
  emitted(
    'webhook.test',
    'A test delivery that was asked for.',
    z.strictObject({ subscription_id: id('The subscription.'), message: text('For people.') }),
    { subscription_id: EXAMPLE.subscriptionId, message: 'This is a test delivery.' },
  ),
  emitted('webhook.endpoint.created', 'A subscription was created.', endpoint, ENDPOINT),
  emitted('webhook.endpoint.updated', 'A subscription was changed.', endpoint.extend({ fields }), {
    ...ENDPOINT,
    fields: ['description'],
  }),
  emitted('webhook.endpoint.activated', 'A subscription is active again.', endpoint.extend({ fields }), {
    ...ENDPOINT,
    fields: ['active'],
  }),
  emitted(
    'webhook.endpoint.deactivated',
    'A subscription was deactivated: by a change of its fields, or for a reason.',
    endpoint.extend({
      fields: fields.optional(),
      reason: text('`gone` when its receiver has answered 410.').optional(),
    }),
    { ...ENDPOINT, reason: 'gone' },
  ),
  emitted('webhook.endpoint.deleted', 'A subscription was deleted.', endpoint, ENDPOINT),
  emitted(
    'webhook.endpoint.secret_rotation_started',
    'A subscription has a next signing secret beside the present one.',
    endpoint.extend({ overlap_ends_at: moment('When the next secret takes over.') }),
    { ...ENDPOINT, overlap_ends_at: '2026-01-02T00:00:00.000Z' },
  ),
  emitted(
    'webhook.endpoint.secret_rotated',
    'A new signing secret of a subscription has taken over.',
    endpoint.extend({ reason: text('`overlap_ended`, or `replaced_at_once`.') }),
    { ...ENDPOINT, reason: 'overlap_ended' },
  ),
  emitted(
    'webhook.delivery.failed',
    'A delivery has failed for good.',
    z.strictObject({
      delivery_id: id('The delivery.'),
      subscription_id: id('The subscription.'),
      event_id: text('The event.'),
      event_type: text('Type of the event.'),
      reason: text('`exhausted` after the last attempt, `gone` (410) or `rejected` (another 4xx).'),
      attempt_count: count('Attempts that were made.'),
      last_status_code: z.int().nullable().describe('What the receiver answered; null when it did not.'),
      last_error: text('What went wrong.').nullable(),
    }),
    {
      delivery_id: EXAMPLE.deliveryId,
      subscription_id: EXAMPLE.subscriptionId,
      event_id: 'o-1001-placed',
      event_type: 'orders.order.placed',
      reason: 'exhausted',
      attempt_count: 12,
      last_status_code: 503,
      last_error: 'http:503',
    },
  ),
]);
