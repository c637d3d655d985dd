// Mends deliveries that no workflow and no relay will continue. It changes no other delivery.
import { NIL } from 'uuid';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { overdueCrowds } from '../rows/crowd.store.ts';
import { restart } from '../rows/delivery-row.store.ts';
import { mendParked, removeLeft as removeNext } from '../rows/outbox.store.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import * as store from './stuck-delivery.store.ts';

/** The most rows that one statement changes or one page reads; and how many workflows are asked concurrently. */
const CHUNK = 500;
const ASKED_AT_ONCE = 16;

export type MendTools = {
  database: Pick<Database, 'query' | 'transaction'>;
  commands: Pick<WorkflowCommandService, 'add'>;
  starter: Pick<DeliveryStarter, 'stateOf' | 'signal'>;
  /** Seconds after which a started delivery or a crowd is moved on. */
  lateSeconds: number;
};

/** Cancels unfinished deliveries of deleted subscriptions. @returns how many, as each of these functions does */
export const cancelDeleted = ({ database }: MendTools): Promise<number> =>
  inChunks(async (limit) => (await store.cancelDeleted(database, limit))?.count ?? 0);

/** Removes outbox rows of ended deliveries of deleted subscriptions. */
export const removeLeft = ({ database }: MendTools): Promise<number> =>
  inChunks((limit) => removeNext(database, limit));

/** Gives deliveries that wait for an open endpoint the outbox row that wakes them. */
export const wakeParked = ({ database }: MendTools): Promise<number> =>
  inChunks((limit) => mendParked(database, limit));

/** Calls the workflows of endpoints that have lost the signal of their crowd. */
export async function callCrowds({ database, commands, lateSeconds }: MendTools): Promise<number> {
  const endpoints = await overdueCrowds(database, lateSeconds);
  if (endpoints.length === 0) return 0;
  await database.transaction({}, (unit) =>
    commands.add(
      unit,
      endpoints.map(({ tenantId, subscriptionId: entityId }) => ({
        tenantId,
        workflow: 'endpointRecovery',
        entityId,
      })),
    ),
  );
  return endpoints.length;
}

/**
 * Signals workflows that wait past the time of their delivery, and enqueues new ones for those that are gone.
 * @throws when the database or Temporal does not answer; deliveries that were moved before stay moved
 */
export async function moveOverdue(tools: MendTools): Promise<number> {
  let moved = 0;
  for (let after: store.OverdueDelivery | undefined; ; ) {
    const place = [after?.nextAttemptAt ?? '-infinity', after?.id ?? NIL] as const;
    const page = await store.listOverdue(tools.database, tools.lateSeconds, ...place, CHUNK);
    for (let start = 0; start < page.length; start += ASKED_AT_ONCE) {
      const group = page.slice(start, start + ASKED_AT_ONCE);
      moved += (await Promise.all(group.map((one) => moveOn(tools, one)))).filter(Boolean).length;
    }
    after = page.at(-1);
    if (page.length < CHUNK) return moved;
  }
}

async function moveOn(
  { starter, database }: MendTools,
  { id, generation }: store.OverdueDelivery,
): Promise<boolean> {
  const delivery = { deliveryId: id, generation };
  const state = await starter.stateOf(delivery);
  if (state === 'busy') return false;
  if (state === 'waiting' && (await starter.signal(delivery, 'retryNow'))) return true;
  return restart(database, { ...delivery, outboxId: newId() });
}

async function inChunks(change: (limit: number) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const changed = await change(CHUNK);
    total += changed;
    if (changed < CHUNK) return total;
  }
}
