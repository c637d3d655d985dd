// Decides which deliveries wait for an early retry in the crowd of their endpoint, and lets them join it.
// docs/decisions/0043-crowds.md

import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import * as crowds from '../rows/crowd.store.ts';
import { roundDue } from '../rows/crowd.ts';
import type { FailureRecord } from '../rows/delivery-row.store.ts';
import type { LockedDelivery } from './attempt.store.ts';

/** More deliveries of one endpoint than these that wait for an early retry are its crowd. */
const FEW = 8;

/** A retry is early while fewer attempts have failed, and it waits for less than so many milliseconds. */
const EARLY = { failures: 4, waitMs: 600_000 } as const;

/** Endpoints, of which the least recently failing are forgotten. */
const MOST_ENDPOINTS = 10_000;

/** A delivery whose attempt has failed, and the change of its row. */
export type Failed = { readonly row: LockedDelivery; readonly change: FailureRecord };

/** `earliest`: when the first delivery that was in the crowd before is due. */
export type Crowd = { readonly members: readonly Failed[]; readonly earliest: Date | null };

export type CrowdNeeds = {
  endpoints: Pick<EndpointService, 'noteCrowd'>;
  /** So many early retries of an endpoint have workflows of their own. */
  few?: number | undefined;
};

const NOBODY: Crowd = { members: [], earliest: null };

/** Both functions run in the transaction that records the failures, which has locked the endpoint. */
export class Crowds extends Service<CrowdNeeds> {
  readonly #few = this.needs.few ?? FEW;
  // When the early retries are due that workflows of their own make, as far as this process has recorded their
  // failures.
  readonly #dues = createBoundedCache<readonly number[]>({ limit: MOST_ENDPOINTS });

  /** @returns the early retries of one endpoint that join its crowd: all of them, when they are many */
  choose = async (unit: Transaction, failures: readonly Failed[]): Promise<Crowd> => {
    const retries = failures.filter(isEarly);
    const [first] = retries;
    if (first === undefined) return NOBODY;
    const { subscriptionId } = first.row;
    const now = performance.now();
    const alone = (this.#dues.peek(subscriptionId) ?? []).filter((due) => due > now);
    const earliest = await crowds.earliestOfCrowd(unit, subscriptionId);
    if (earliest !== null || alone.length + retries.length > this.#few) return { members: retries, earliest };
    const more = retries.map(({ change }) => now + (change.delayMs ?? 0));
    unit.afterCommit(() => this.#dues.set(subscriptionId, [...alone, ...more]));
    return NOBODY;
  };

  /** Lets deliveries join. The workflow of the endpoint is called when none of the crowd was due as early. */
  join = async (unit: Transaction, { members, earliest: known }: Crowd): Promise<void> => {
    const [first] = members;
    if (first === undefined) return;
    const earliest = await crowds.joinCrowd(
      unit,
      members.map(({ change }) => change.deliveryId),
    );
    if (known === null || (earliest !== null && roundDue(earliest) < roundDue(known)))
      await this.needs.endpoints.noteCrowd(unit, first.row);
  };
}

function isEarly({ change, row }: Failed): boolean {
  const { needsWorkflow, failedAttempts, delayMs } = change;
  return (
    needsWorkflow && !row.ownWorkflow && failedAttempts < EARLY.failures && (delayMs ?? 0) < EARLY.waitMs
  );
}
