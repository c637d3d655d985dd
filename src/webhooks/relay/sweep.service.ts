// Repairs deliveries that no workflow and no relay will continue. It changes no other delivery, so it can run each
// minute and by hand.

import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { ensurePartitions } from '../../platform/database/partitions.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { overdueCrowds } from '../rows/crowd.store.ts';
import { restart } from '../rows/delivery-row.store.ts';
import { mendParked, removeLeft } from '../rows/outbox.store.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import type { OverdueDelivery } from './sweep.store.ts';
import * as store from './sweep.store.ts';

export type SweepReport = {
  readonly restarted: number;
  /** Overdue deliveries whose workflow still waited and was signalled. */
  readonly told: number;
  readonly canceled: number;
  /** Outbox rows of ended deliveries of deleted subscriptions. */
  readonly removed: number;
  readonly mended: number;
  /** Endpoints whose workflow was called, because their crowd is overdue. */
  readonly called: number;
  readonly partitions: number;
};

/** The most rows that one statement changes or one page reads; and how many workflows are checked concurrently. */
const CHUNK = 500;
const ASKED_AT_ONCE = 16;

/** Milliseconds between two sweeps. */
const INTERVAL = 60_000;

export type SweepNeeds = {
  database: Pick<Database, 'query' | 'pool' | 'transaction'>;
  commands: Pick<WorkflowCommandService, 'add'>;
  starter: Pick<DeliveryStarter, 'stateOf' | 'signal'>;
  /** Receives the report of a sweep that changed something. */
  onSwept?: ((report: SweepReport) => void) | undefined;
  onFailure: (error: unknown) => void;
  /** Milliseconds after which a started delivery or a crowd is overdue. */
  late?: number | undefined;
};

export class SweepService extends Service<SweepNeeds> {
  readonly #late = this.needs.late ?? 120_000;

  /**
   * Sweeps once.
   * @returns undefined when another process is sweeping
   * @throws when the database or Temporal does not answer; the repairs made before that are kept
   */
  run = (): Promise<SweepReport | undefined> => store.exclusively(this.needs.database, () => this.#sweep());

  /** Begins to sweep each minute. */
  start = (): RunningLoop => {
    // The random part spreads the sweeps of processes that started together.
    const next = () => INTERVAL * (0.9 + 0.2 * Math.random());
    return createLoop({
      run: () => this.#sweepAndReport(),
      first: next(),
      next,
      onFailure: this.needs.onFailure,
    }).start();
  };

  /** Enqueues a new workflow when the delivery's workflow is gone, or signals a workflow that waits past its time. */
  #moveOn = async ({ id, generation }: OverdueDelivery): Promise<'restarted' | 'told' | undefined> => {
    const delivery = { deliveryId: id, generation };
    const state = await this.needs.starter.stateOf(delivery);
    if (state === 'busy') return undefined;
    if (state === 'waiting' && (await this.needs.starter.signal(delivery, 'retryNow'))) return 'told';
    const again = await restart(this.needs.database, { ...delivery, outboxId: newId() });
    return again ? 'restarted' : undefined;
  };

  #moveOverdue = async (): Promise<{ restarted: number; told: number }> => {
    const moved = { restarted: 0, told: 0 };
    let after: OverdueDelivery | undefined;
    for (;;) {
      const page = await store.overdue(this.needs.database, { lateMs: this.#late, after, limit: CHUNK });
      for (let start = 0; start < page.length; start += ASKED_AT_ONCE) {
        const group = page.slice(start, start + ASKED_AT_ONCE);
        for (const how of await Promise.all(group.map((input) => this.#moveOn(input))))
          if (how !== undefined) moved[how] += 1;
      }
      after = page.at(-1);
      if (page.length < CHUNK) return moved;
    }
  };

  /** Calls the workflows of endpoints that have lost the signal of their crowd. @returns how many */
  #callCrowds = async (): Promise<number> => {
    const endpoints = await overdueCrowds(this.needs.database, this.#late);
    if (endpoints.length === 0) return 0;
    await this.needs.database.transaction({}, (unit) =>
      this.needs.commands.add(
        unit,
        endpoints.map(({ tenantId, subscriptionId: entityId }) => ({
          tenantId,
          workflow: 'endpointRecovery',
          entityId,
        })),
      ),
    );
    return endpoints.length;
  };

  #sweep = async (): Promise<SweepReport> => {
    // When the partitions cannot be created, the sweep of deliveries still continues.
    const partitions = await ensurePartitions(this.needs.database).catch((error: unknown) => {
      this.needs.onFailure(error);
      return 0;
    });
    const canceled = await inChunks((limit) => store.cancelDeleted(this.needs.database, limit));
    const removed = await inChunks((limit) => removeLeft(this.needs.database, limit));
    const mended = await inChunks((limit) => mendParked(this.needs.database, limit));
    const called = await this.#callCrowds();
    return { partitions, canceled, removed, mended, called, ...(await this.#moveOverdue()) };
  };

  #sweepAndReport = async (): Promise<void> => {
    const report = await this.run();
    if (report !== undefined && Object.values(report).some((count) => count > 0))
      this.needs.onSwept?.(report);
  };
}

async function inChunks(change: (limit: number) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const changed = await change(CHUNK);
    total += changed;
    if (changed < CHUNK) return total;
  }
}
