// Every export is a workflow type, and its name is the wire name for ever.
export { webhookDelivery } from './webhook-delivery.ts';
