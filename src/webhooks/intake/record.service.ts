// Writes the records of happenings: audit entries and events of the service, in the transaction of the change.
// docs/decisions/0044-times-of-tokens.md

import { appendEntries, prepareEntries } from '../../audit/audit.service.ts';
import type { AuditContext, AuditEntry, AuditRecord } from '../../audit/audit.ts';
import { findMismatch } from '../../events/catalogue.ts';
import { endsByTime } from '../../events/ended-tokens.ts';
import { ACCESS_TYPES, type EmittedEvent, type EventRecord, prepareEvent } from '../../events/event.ts';
import { askTime, createDatabaseClock, type DatabaseClock } from '../../platform/database/database-clock.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import type { ReceiptOpening } from '../receipts/receipt-opening.service.ts';
import * as store from './event.store.ts';

export type Happening = {
  readonly audit?: readonly AuditEntry[] | undefined;
  readonly events?: readonly EmittedEvent[] | undefined;
};

/**
 * The records of a happening, ready for their insert. A repeated insert changes nothing. `lane`: they share their
 * statement with those of the same lane alone, since their events may have many deliveries.
 */
export type PreparedRecords = {
  readonly lane?: string | undefined;
  readonly audit: readonly AuditRecord[];
  readonly events: readonly EventRecord[];
};

/** Notifies the relays. It is called only after commits. */
export type Notifier = { poke(): void };

/** Tells the readers that wait of new events. It is called only after commits. */
export type TellEvents = (events: readonly Pick<EventRecord, 'tenantId' | 'type'>[]) => void;

/** `deliveries` counts the subscriptions that get the event. `deliveryId` is set for an event to one subscription. */
export type Emitted = {
  readonly eventId: string;
  readonly deliveries: number;
  readonly deliveryId?: string | undefined;
};

type Unit = Queryable & Partial<Pick<Transaction, 'afterCommit'>>;

export type RecordNeeds = {
  notifier: Notifier;
  tellEvents?: TellEvents | undefined;
  /** In tests only: throws when an event differs from the catalogue. */
  checked?: boolean | undefined;
  tracing?: Pick<Tracing, 'current'> | undefined;
  /** Opens a receipt for each event that ended access. */
  receipts?: Pick<ReceiptOpening, 'isFollowed' | 'open'> | undefined;
  clock?: Pick<DatabaseClock, 'observe' | 'now' | 'monotonic'> | undefined;
};

/** Source: Specification, "audit logs record creation and verification" and "Events". */
export class RecordService extends Service<RecordNeeds> {
  readonly #tellEvents = this.needs.tellEvents ?? (() => undefined);
  readonly #checked = this.needs.checked ?? true;
  readonly #tracing = this.needs.tracing ?? NO_TRACING;
  readonly #clock = this.needs.clock ?? createDatabaseClock();

  /**
   * Returns the time of events that are written now. Of those that end tokens by their time it is read in the
   * transaction that has ended them, so that no earlier token is later: one more round trip.
   * @returns milliseconds since 1970
   */
  timeOf = async (unit: Queryable, events: readonly EmittedEvent[] = []): Promise<number> =>
    events.some(endsByTime) ? await askTime(unit, this.#clock) : this.#clock.now();

  /**
   * Prepares the records of a happening (ids, times, bodies), for a statement that inserts the records of several
   * requests.
   * @param context the request, whose tenant, client address, request id and principal are in each audit entry
   * @param time of `timeOf`, which events that end tokens by their time need
   * @throws ServiceError `payload_too_large` when the body of an event is larger than 256 KiB
   */
  prepare = (
    context: AuditContext,
    { audit = [], events = [] }: Happening,
    time?: number | undefined,
  ): PreparedRecords => {
    const now = new Date(time ?? this.#clock.now());
    for (const event of this.#checked ? events : []) {
      const mismatch = findMismatch(event.type, event.data);
      if (mismatch !== undefined) throw new Error(mismatch);
      if (time === undefined && endsByTime(event))
        throw new Error(`${event.type} needs the time of its transaction`);
    }
    const trace = this.#tracing.current();
    return {
      lane: events.length > 0 && context.tenant.fansOut ? context.tenant.id : undefined,
      audit: prepareEntries(context, audit),
      events: events.map((event) =>
        prepareEvent(event, { id: newId(), tenantId: context.tenant.id, now, trace }),
      ),
    };
  };

  /** After a commit: notifies the relays of new deliveries, and the readers of events that were stored. */
  announce = (stored: readonly EventRecord[], deliveries: number) => {
    if (deliveries > 0) this.needs.notifier.poke();
    if (stored.length > 0) this.#tellEvents(stored);
  };

  /** Writes prepared records of any number of tenants. @returns the events with deliveries, by row id */
  writeBatch = async (
    unit: Unit,
    batch: readonly PreparedRecords[],
  ): Promise<ReadonlyMap<string, store.FanOut>> => {
    const audit = batch.flatMap((prepared) => prepared.audit);
    const events = batch.flatMap((prepared) => prepared.events);
    if (events.length === 0) {
      await appendEntries(unit, audit);
      return new Map();
    }
    const fanOut = new Map((await store.emit(unit, events, audit)).map((row) => [row.id, row]));
    const stored = events.filter(
      ({ id, type, test }) => fanOut.has(id) || (!test && ACCESS_TYPES.includes(type)),
    );
    if (unit.afterCommit === undefined) this.announce(stored, fanOut.size);
    else unit.afterCommit(() => this.announce(stored, fanOut.size));
    return fanOut;
  };

  /**
   * Writes audit entries and events in the caller's transaction. Each event gets a delivery for each matching
   * subscription, inactive subscriptions included. One round trip, or two (`timeOf`); none for an empty happening.
   * @param context as for `prepare`
   * @returns a result for each event, in the order of `happening.events`
   * @throws ServiceError `payload_too_large` when the body of an event is larger than 256 KiB
   */
  write = async (unit: Unit, context: AuditContext, happening: Happening): Promise<Emitted[]> => {
    const prepared = this.prepare(context, happening, await this.timeOf(unit, happening.events));
    const fanOut = await this.writeBatch(unit, [prepared]);
    await this.#openReceipts(unit, context.tenant.id, { events: prepared.events, fanOut });
    return prepared.events.map(({ id, eventId }) => {
      const { deliveries = 0, deliveryId = null } = fanOut.get(id) ?? {};
      return { eventId, deliveries, deliveryId: deliveryId ?? undefined };
    });
  };

  #openReceipts = async (
    unit: Unit,
    tenantId: string,
    { events, fanOut }: { events: readonly EventRecord[]; fanOut: ReadonlyMap<string, store.FanOut> },
  ): Promise<void> => {
    // A test names the type of an example, and has ended nothing.
    const followed = events.filter(({ type, test }) => !test && this.needs.receipts?.isFollowed(type));
    if (followed.length === 0) return;
    const news = followed.map((event) => ({ ...event, deliveries: fanOut.get(event.id)?.deliveries ?? 0 }));
    await this.needs.receipts?.open(unit, tenantId, news);
  };
}
