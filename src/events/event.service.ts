// Emits the service's own events inside the transaction of the change that causes them. It must never open a transaction itself.

import type { AuditRecord } from '../audit/audit.ts';
import type { Tenant } from '../platform/context.ts';
import { newId } from '../platform/database/ids.ts';
import type { Queryable, Transaction } from '../platform/database/transaction.ts';
import { NO_TRACING, type Tracing } from '../platform/tracing/tracing.ts';
import { findMismatch } from './catalogue.ts';
import * as store from './event.store.ts';
import { type EmittedEvent, type EventRecord, prepareEvent } from './event.ts';

export type { EmittedEvent, EventRecord, JsonObject } from './event.ts';

/** What one request leaves behind, ready to be written. */
export type PreparedRecords = {
  readonly audit: readonly AuditRecord[];
  readonly events: readonly EventRecord[];
};

/** Wakes the relays; called after commits only. */
export type Notifier = { poke(): void };

/** `deliveries` counts the subscriptions that get the event; `deliveryId` is there when it was meant for one that exists. */
export type Emitted = {
  readonly eventId: string;
  readonly deliveries: number;
  readonly deliveryId?: string | undefined;
};

/**
 * The events of the service as its rooms emit them. Source: Specification, "Events".
 * @param checked whether data that the catalogue does not describe is refused. In tests only: what is written here has happened
 */
export function createEventService({
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
   * Fixes events (id, time and body) for a statement that writes those of several requests. Writing one again changes nothing.
   * @throws ServiceError `payload_too_large` when a body is over 256 KiB
   */
  const prepare = (
    context: { readonly tenant: Pick<Tenant, 'id'> },
    events: readonly EmittedEvent[],
  ): EventRecord[] => {
    const moment = now();
    for (const { type, data } of checked ? events : []) {
      const mismatch = findMismatch(type, data);
      if (mismatch !== undefined) throw new Error(mismatch);
    }
    const trace = tracing.current();
    return events.map((event) =>
      prepareEvent(event, { id: newId(), tenantId: context.tenant.id, now: moment, trace }),
    );
  };

  const announce = (deliveries: number): void => {
    if (deliveries > 0) notifier.poke();
  };

  return {
    prepare,

    /** Wakes the relays. @param deliveries how many were made, and are committed */
    announce,

    /**
     * Writes prepared audit entries and events of several requests, outside of any transaction, and wakes the relays. One statement:
     * all of them are committed when it resolves, or none.
     */
    writeBatch: async (database: Queryable, batch: readonly PreparedRecords[]): Promise<void> => {
      const written = await store.emit(
        database,
        batch.flatMap(({ events }) => events),
        batch.flatMap(({ audit }) => audit),
      );
      announce(written.reduce((sum, { deliveries }) => sum + deliveries, 0));
    },

    /**
     * Writes events and one delivery a matching subscription, inactive ones included, in the caller's transaction: they
     * exist when it commits, and only then. One round trip whatever their number, none for an empty list.
     * @returns one entry an event, in the order of `events`
     * @throws ServiceError `payload_too_large` when a body is over 256 KiB
     */
    emit: async (
      unit: Transaction,
      context: { readonly tenant: Pick<Tenant, 'id'> },
      events: readonly EmittedEvent[],
    ): Promise<Emitted[]> => {
      if (events.length === 0) return [];
      const records = prepare(context, events);
      const fanOut = new Map((await store.emit(unit, records)).map((row) => [row.id, row]));
      const emitted = records.map(({ id, eventId }) => {
        const row = fanOut.get(id);
        return { eventId, deliveries: row?.deliveries ?? 0, deliveryId: row?.deliveryId ?? undefined };
      });
      const total = emitted.reduce((sum, { deliveries }) => sum + deliveries, 0);
      if (total > 0) unit.afterCommit(() => announce(total));
      return emitted;
    },
  };
}

export type EventService = ReturnType<typeof createEventService>;
