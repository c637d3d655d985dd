// The record of deliveries that a receiver has accepted, so that none is processed twice. An interface only: a receiver
// of several processes keeps the record in its database.

/** Specification: Events, Receiver behaviour expected. `ignored`: accepted, and no processing was needed. */
export type DeliveryStatus = 'accepted' | 'processed' | 'failed' | 'ignored';

/** The deduplication record, under the specification's names; `event_id` when the payload has one. */
export type DeliveryRecord = {
  delivery_id: string;
  event_type: string;
  received_at: Date;
  status: DeliveryStatus;
  event_id?: string;
};

/**
 * Stored with a record: the raw body, for a log that is an inbox, and the time until which its signed request can be
 * replayed.
 */
export type AcceptedDelivery = { body: Uint8Array; replayableUntil: Date };

/**
 * `accepted`: new, or to be run again; `in_progress`: a handler has it and has not finished; `duplicate`: it has been
 * accepted for good, and needs no further processing.
 */
export type Acceptance = 'accepted' | 'in_progress' | 'duplicate';

/**
 * Where a receiver records deliveries. Both methods must be durable before they resolve; an error of either is answered
 * with 5xx, so the delivery is sent again.
 */
export type DeliveryLog = {
  /**
   * Records a delivery before any side effect, in one atomic step: of any number of simultaneous calls with one
   * `delivery_id` exactly one gets `accepted`. It is `accepted` when there is no record, when its status is `failed`,
   * and when it has been `accepted` for so long that its handler must be dead; the record is then replaced. A record is
   * kept at least until the latest `replayableUntil` seen, and should be kept for as long as the service tries again
   * (three days by its usual schedule).
   */
  accept(record: DeliveryRecord, delivery: AcceptedDelivery): Promise<Acceptance>;
  /**
   * Stores the status in which a handler ended, unless the record has been replaced: its `received_at` is another then.
   */
  settle(record: DeliveryRecord): Promise<void>;
};
