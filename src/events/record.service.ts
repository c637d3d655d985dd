// Writes the records of happenings: audit entries and events of the service, in the transaction of the change.
import { appendEntries, prepareEntries } from '../audit/audit.service.ts';
import type { AuditContext, AuditEntry, AuditRecord } from '../audit/audit.ts';
import { newId } from '../platform/database/ids.ts';
import type { Queryable, Transaction } from '../platform/database/transaction.ts';
import { NO_TRACING, type Tracing } from '../platform/tracing/tracing.ts';
import { findMismatch } from './catalogue.ts';
import * as store from './event.store.ts';
import { type EmittedEvent, type EventRecord, prepareEvent } from './event.ts';

/** A happening: its entries for the audit log, and its events for subscribers. */
export type Happening = {
  readonly audit?: readonly AuditEntry[] | undefined;
  readonly events?: readonly EmittedEvent[] | undefined;
};

/** The records of a happening, ready to be written. Writing them again changes nothing. */
export type PreparedRecords = {
  readonly audit: readonly AuditRecord[];
  readonly events: readonly EventRecord[];
};

/** Notifies the relays; called after commits only. */
export type Notifier = { poke(): void };

/**
 * `deliveries` counts the subscriptions that get the event; `deliveryId` is set for an event for one existing
 * subscription.
 */
export type Emitted = {
  readonly eventId: string;
  readonly deliveries: number;
  readonly deliveryId?: string | undefined;
};

/** The caller's transaction, or the database for records without one. */
type Unit = Queryable & Partial<Pick<Transaction, 'afterCommit'>>;

/**
 * The records of all rooms. Source: Specification, "audit logs record creation and verification" and "Events".
 * @param checked whether an event that disagrees with the catalogue is refused; in tests only, because a happening
 *   cannot be refused
 */
export function createRecordService({
  notifier,
  checked = true,
  tracing = NO_TRACING,
  now = () => new Date(),
}: {
  notifier: Notifier;
  checked?: boolean | undefined;
  tracing?: Pick<Tracing, 'current'> | undefined;
  now?: (() => Date) | undefined;
}) {
  /**
   * Fixes the records of a happening (ids, times, bodies) for a statement that writes those of several requests.
   * @param context the request: tenant, client address, request id and principal go into each audit entry
   * @throws ServiceError `payload_too_large` when the body of an event is over 256 KiB
   */
  const prepare = (context: AuditContext, { audit = [], events = [] }: Happening): PreparedRecords => {
    const moment = now();
    for (const { type, data } of checked ? events : []) {
      const mismatch = findMismatch(type, data);
      if (mismatch !== undefined) throw new Error(mismatch);
    }
    const trace = tracing.current();
    return {
      audit: prepareEntries(context, audit),
      events: events.map((event) =>
        prepareEvent(event, { id: newId(), tenantId: context.tenant.id, now: moment, trace }),
      ),
    };
  };

  /** Notifies the relays. @param deliveries the number of committed deliveries */
  const announce = (deliveries: number): void => {
    if (deliveries > 0) notifier.poke();
  };

  /** As `write`, for prepared records of any number of tenants. @returns the events with deliveries, by row id */
  const writeBatch = async (
    unit: Unit,
    batch: readonly PreparedRecords[],
  ): Promise<ReadonlyMap<string, store.FanOut>> => {
    const audit = batch.flatMap((prepared) => prepared.audit);
    const events = batch.flatMap((prepared) => prepared.events);
    if (events.length === 0) {
      await appendEntries(unit, audit);
      return new Map();
    }
    const fanOut = await store.emit(unit, events, audit);
    const deliveries = fanOut.reduce((sum, row) => sum + row.deliveries, 0);
    if (unit.afterCommit === undefined) announce(deliveries);
    else unit.afterCommit(() => announce(deliveries));
    return new Map(fanOut.map((row) => [row.id, row]));
  };

  return {
    prepare,
    announce,
    writeBatch,

    /**
     * Writes audit entries, and events with one delivery a matching subscription, inactive ones included. They exist
     * when the caller's transaction commits, and only then. One round trip for any number of them, none for nothing.
     * @param context as for `prepare`
     * @returns one entry an event, in the order of `happening.events`
     * @throws ServiceError `payload_too_large` when the body of an event is over 256 KiB
     */
    write: async (unit: Unit, context: AuditContext, happening: Happening): Promise<Emitted[]> => {
      const prepared = prepare(context, happening);
      const fanOut = await writeBatch(unit, [prepared]);
      return prepared.events.map(({ id, eventId }) => {
        const { deliveries = 0, deliveryId = null } = fanOut.get(id) ?? {};
        return { eventId, deliveries, deliveryId: deliveryId ?? undefined };
      });
    },
  };
}

export type RecordService = ReturnType<typeof createRecordService>;
