// The interface of a receiver's record of accepted deliveries, which prevents that a delivery is processed twice. A
// receiver of several processes implements it in its database.
// docs/decisions/0013-receivers.md

/** Specification: Events, Receiver behaviour expected. `ignored`: accepted, and no processing was needed. */
export type DeliveryStatus = 'accepted' | 'processed' | 'failed' | 'ignored';

/** The deduplication record, with the specification's names. `event_id` is absent when the payload has none. */
export type DeliveryRecord = {
  delivery_id: string;
  event_type: string;
  received_at: Date;
  status: DeliveryStatus;
  event_id?: string;
};

/** Stored with a record: the raw body, for a log that is an inbox, and the end of the request's replay window. */
export type AcceptedDelivery = { body: Uint8Array; replayableUntil: Date };

/**
 * `accepted`: the delivery is new, or must be handled again. `in_progress`: a handler has not finished it. `duplicate`:
 * it needs no further processing.
 */
export type Acceptance = 'accepted' | 'in_progress' | 'duplicate';

/**
 * Records deliveries for a receiver. Both methods resolve only when the change is durable. When a method throws, the
 * answer is 5xx, and the service sends the delivery again.
 */
export type DeliveryLog = {
  /**
   * Records a delivery before any side effect, in one atomic step: of concurrent calls with one `delivery_id` exactly
   * one gets `accepted`. A call also gets `accepted`, and replaces the record, when the status is `failed`, or when it
   * has been `accepted` for so long that the handler must have died. Keep a record at least until the latest
   * `replayableUntil`, and better for as long as the service retries (three days by the default schedule).
   */
  accept(record: DeliveryRecord, delivery: AcceptedDelivery): Promise<Acceptance>;
  /** Stores the status in which a handler ended, unless the record was replaced, so that its `received_at` differs. */
  settle(record: DeliveryRecord): Promise<void>;
};
