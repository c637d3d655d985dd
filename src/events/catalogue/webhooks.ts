// Event types of webhooks. Except for tests, the subscription that an event describes does not receive the event.
import { z } from 'zod';
import { emitted, inCategory } from './event-type.ts';
import { count, EXAMPLE, id, moment, shown, text, texts } from './fields.ts';

const subscriptionId = id('The subscription.', EXAMPLE.subscriptionId);
const streamId = id('The stream.', EXAMPLE.subscriptionId);
const host = text("Host of the receiver; the URL's path may carry a secret.", 'hooks.example.com');
const failingSince = '2026-01-01T00:00:00.000Z';

const endpoint = z.strictObject({
  subscription_id: subscriptionId,
  host,
  event_types: texts('wallet.tx.signed'),
});
const sent = z.array(z.string()).describe('Names of the fields that were sent.');

export const WEBHOOKS = inCategory('Webhooks', [
  emitted(
    'webhook.test',
    'A test delivery that was asked for.',
    z.strictObject({
      subscription_id: subscriptionId,
      message: text('For people.', 'This is a test delivery.'),
    }),
  ),
  emitted('webhook.endpoint.created', 'A subscription was created.', endpoint),
  emitted(
    'webhook.endpoint.updated',
    'A subscription was changed.',
    endpoint.extend({ fields: shown(sent, ['description']) }),
  ),
  emitted(
    'webhook.endpoint.activated',
    'A subscription is active again.',
    endpoint.extend({ fields: shown(sent, ['active']) }),
  ),
  emitted(
    'webhook.endpoint.deactivated',
    'A subscription was deactivated: by a change of its fields, or for a reason.',
    endpoint.extend({
      fields: sent.optional(),
      reason: text(
        '`gone` when its receiver has answered 410, `failing` after days of nothing but failures.',
        'gone',
      ).optional(),
    }),
  ),
  emitted(
    'webhook.endpoint.failing',
    'An endpoint has done nothing but fail for an hour, a day or three days.',
    z.strictObject({
      subscription_id: subscriptionId,
      host,
      state: shown(
        z.enum(['failing', 'held', 'down', 'probing', 'releasing']).describe('Of the endpoint.'),
        'down',
      ),
      failing_since: moment('The first failure since its last success.', failingSince),
      last_error: text('What went wrong last, such as `http:503`.', 'http:503').nullable(),
      waiting: count('Deliveries that have not ended, up to 10000.', 1_204),
      deactivates_at: moment(
        'When the subscription is deactivated, unless its endpoint takes something before; null while it refuses deliveries for good and none waits.',
        '2026-01-15T00:00:00.000Z',
      ).nullable(),
    }),
  ),
  emitted(
    'webhook.endpoint.recovered',
    'An endpoint that was reported as failing has taken a delivery.',
    z.strictObject({
      subscription_id: subscriptionId,
      host,
      failing_since: moment('When it had begun to fail.', failingSince),
    }),
  ),
  emitted('webhook.endpoint.deleted', 'A subscription was deleted.', endpoint),
  emitted(
    'webhook.endpoint.secret_rotation_started',
    'A subscription has a next signing secret beside the present one.',
    endpoint.extend({
      overlap_ends_at: moment('When the next secret takes over.', '2026-01-02T00:00:00.000Z'),
    }),
  ),
  emitted(
    'webhook.endpoint.secret_rotated',
    'A new signing secret of a subscription has taken over.',
    endpoint.extend({ reason: text('`overlap_ended`, or `replaced_at_once`.', 'overlap_ended') }),
  ),
  emitted(
    'webhook.stream.verification',
    'A verification of a stream of security events was asked for. It goes to the stream alone.',
    z.strictObject({
      subscription_id: streamId,
      state: text('What the receiver sent with the request.', 'ping').optional(),
    }),
  ),
  emitted(
    'webhook.stream.updated',
    'The service has changed the status of a stream of security events. It goes to the stream alone.',
    z.strictObject({
      subscription_id: streamId,
      status: shown(z.enum(['enabled', 'paused', 'disabled']), 'paused'),
      reason: text('As in `webhook.endpoint.deactivated`.', 'failing'),
    }),
  ),
  emitted(
    'webhook.delivery.failed',
    'A delivery has failed for good.',
    z.strictObject({
      delivery_id: id('The delivery.', '0199a1b2-f4b5-76c7-82d3-4e5f60718293'),
      subscription_id: subscriptionId,
      event_id: text('The event.', 'o-1001-placed'),
      event_type: text('Type of the event.', 'orders.order.placed'),
      reason: text(
        '`exhausted` after the last attempt, `gone` (410) or `rejected` (400, 413, 415 or 422).',
        'exhausted',
      ),
      attempt_count: count('Attempts that were made.', 12),
      last_status_code: shown(
        z.int().nullable().describe('What the receiver answered; null when it did not.'),
        503,
      ),
      last_error: text('What went wrong.', 'http:503').nullable(),
    }),
  ),
]);
