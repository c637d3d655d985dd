// The entry `@countersign/receiver`: verifies and receives deliveries in Node, browsers, Deno, Bun and workers. It
// imports no `node:` module and no web framework.

export type {
  Acceptance,
  AcceptedDelivery,
  DeliveryLog,
  DeliveryRecord,
  DeliveryStatus,
} from './delivery-log.ts';
export { createExpressReceiver } from './express-receiver.ts';
export { createFetchReceiver } from './fetch-receiver.ts';
export { createKoaReceiver } from './koa-receiver.ts';
export { createMemoryDeliveryLog } from './memory-delivery-log.ts';
export {
  type DeliveryHandler,
  type ReceivedDelivery,
  type ReceivedRequest,
  type ReceiverAnswer,
  type ReceiverOptions,
  receive,
} from './receive.ts';
export { RawBodyMissing, RejectDelivery, RetryLater } from './receiver-errors.ts';
export type { RefusalReason, RefusedDelivery } from './refused-delivery.ts';
export {
  DEFAULT_MAX_AGE_SECONDS,
  FUTURE_TOLERANCE_SECONDS,
  REFUSALS,
  type ReceivedHeaders,
  type Refusal,
  type Verification,
  verifyDelivery,
} from './verify-delivery.ts';
