// All activities of the worker, by the names that workflows call them.
import { createWebhookDeliveryActivities } from './webhook-delivery.ts';

export function createActivities(services: Parameters<typeof createWebhookDeliveryActivities>[0]) {
  return { ...createWebhookDeliveryActivities(services) };
}

export type Activities = ReturnType<typeof createActivities>;
