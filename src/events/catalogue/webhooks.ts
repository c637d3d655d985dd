// Event types of webhooks. Except for tests, the subscription that an event describes does not receive the event.
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
      reason: text(
        '`gone` when its receiver has answered 410, `failing` after days of nothing but failures.',
      ).optional(),
    }),
    { ...ENDPOINT, reason: 'gone' },
  ),
  emitted(
    'webhook.endpoint.failing',
    'An endpoint has done nothing but fail for an hour, a day or three days.',
    z.strictObject({
      subscription_id: id('The subscription.'),
      host: endpoint.shape.host,
      state: z.enum(['failing', 'held', 'down', 'probing', 'releasing']).describe('Of the endpoint.'),
      failing_since: moment('The first failure since its last success.'),
      last_error: text('What went wrong last, such as `http:503`.').nullable(),
      waiting: count('Deliveries that have not ended, up to 10000.'),
      deactivates_at: moment(
        'When the subscription is deactivated, unless its endpoint takes something before; null while it refuses deliveries for good and none waits.',
      ).nullable(),
    }),
    {
      subscription_id: EXAMPLE.subscriptionId,
      host: 'hooks.example.com',
      state: 'down',
      failing_since: '2026-01-01T00:00:00.000Z',
      last_error: 'http:503',
      waiting: 1_204,
      deactivates_at: '2026-01-15T00:00:00.000Z',
    },
  ),
  emitted(
    'webhook.endpoint.recovered',
    'An endpoint that was reported as failing has taken a delivery.',
    z.strictObject({
      subscription_id: id('The subscription.'),
      host: endpoint.shape.host,
      failing_since: moment('When it had begun to fail.'),
    }),
    {
      subscription_id: EXAMPLE.subscriptionId,
      host: 'hooks.example.com',
      failing_since: '2026-01-01T00:00:00.000Z',
    },
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
    'webhook.stream.verification',
    'A verification of a stream of security events was asked for. It goes to the stream alone.',
    z.strictObject({
      subscription_id: id('The stream.'),
      state: text('What the receiver sent with the request.').optional(),
    }),
    { subscription_id: EXAMPLE.subscriptionId, state: 'ping' },
  ),
  emitted(
    'webhook.stream.updated',
    'The service has changed the status of a stream of security events. It goes to the stream alone.',
    z.strictObject({
      subscription_id: id('The stream.'),
      status: z.enum(['enabled', 'paused', 'disabled']),
      reason: text('As in `webhook.endpoint.deactivated`.'),
    }),
    { subscription_id: EXAMPLE.subscriptionId, status: 'paused', reason: 'failing' },
  ),
  emitted(
    'webhook.delivery.failed',
    'A delivery has failed for good.',
    z.strictObject({
      delivery_id: id('The delivery.'),
      subscription_id: id('The subscription.'),
      event_id: text('The event.'),
      event_type: text('Type of the event.'),
      reason: text('`exhausted` after the last attempt, `gone` (410) or `rejected` (400, 413, 415 or 422).'),
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
