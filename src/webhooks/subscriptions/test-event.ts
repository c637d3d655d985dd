// The event that a test delivery brings. Pure.
import { findEventType } from '../../events/catalogue.ts';
import type { JsonObject } from '../../events/event.ts';
import { invalidField } from '../../platform/errors/service-error.ts';

export const TEST_EVENT = 'webhook.test';

/** @returns the data of a test event: the subscription for `webhook.test`, the catalogue's example for other types */
export function testDataOf(eventType: string, subscriptionId: string): JsonObject {
  if (eventType === TEST_EVENT)
    return { subscription_id: subscriptionId, message: 'This is a test delivery.' };
  const known = findEventType(eventType);
  if (known === undefined)
    throw invalidField('body.event_type', 'is not in the catalogue (GET /api/v1/event-types)');
  return known.example;
}
