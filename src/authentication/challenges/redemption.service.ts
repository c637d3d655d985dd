// Consumes challenges after a correct signature. Concurrent verifications share a statement. Only the verification
// whose row is locked waits for the lock.
// docs/decisions/0021-proved-memory.md

import type { RotationService } from '../../identity/keys/rotation.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { Happening, PreparedRecords, RecordService } from '../../webhooks/intake/record.service.ts';
import type { RefreshTokenRecord } from '../tokens/token.service.ts';
import type { Redemption } from './redemption.store.ts';
import * as store from './redemption.store.ts';
import { describeFirstUse, describeSuccess, type Success } from './redemption.ts';

/** Greatest number of redemptions that wait concurrently for a locked row. Each of them uses its own connection. */
const WAITING = 2;

const NOTHING: PreparedRecords = { audit: [], events: [] };

export type RedemptionNeeds = {
  database: Queryable;
  records: Pick<RecordService, 'prepare' | 'announce'>;
  rotations: Pick<RotationService, 'noticeSwitches'>;
};

/** Source: Specification, "Challenge-response procedure": a challenge is used once. */
export class RedemptionService extends Service<RedemptionNeeds> {
  readonly #underWay = new Map<string, Promise<boolean>>();
  readonly #together = createCoalescer<Redemption, boolean>({
    run: (batch) => this.#settle(batch, { waits: false }),
    laneOf: ({ lane }) => lane,
    sizeOf: (redemption) => ({
      rows: 2 + redemption.audit.length + redemption.events.length,
      bytes: redemption.events.reduce((sum, { body }) => sum + body.length, 0),
    }),
  });
  readonly #alone = createCoalescer<Redemption, boolean>({
    run: (batch) => this.#settle(batch, { waits: true }),
    laneOf: ({ lane }) => lane,
    limits: { rows: 1, batches: WAITING },
  });

  /**
   * Consumes the challenge, and writes the refresh token and the records of the success, all or nothing. One round
   * trip, shared by concurrent redemptions.
   * @param options.version of the key and agent by which the tokens were decided; nothing is consumed when they have
   * changed
   * @param options.isHeard false when no subscription gets the events of the success; then none are made, and nothing
   * is consumed when one gets them now
   * @param options.waits whether to wait for a change of the key or agent that is under way
   * @returns false when nothing was consumed: another redemption has used the challenge or is using it in this
   * process, or the key or agent has changed
   */
  redeem = async (
    context: RequestContext,
    success: Success,
    {
      refreshToken,
      isHeard,
      version,
      waits,
    }: { refreshToken: RefreshTokenRecord; isHeard: boolean; version: string; waits: boolean },
  ): Promise<boolean> => {
    const challengeId = success.challenge.id;
    const rival = this.#underWay.get(challengeId);
    if (rival !== undefined) return rival.then(() => false);
    const prepared = this.needs.records.prepare(context, described(success, isHeard));
    const firstUse = success.holder.key.isVerified
      ? NOTHING
      : this.needs.records.prepare(context, describeFirstUse(success));
    const redemption = {
      ...prepared,
      lane: prepared.lane ?? firstUse.lane,
      tenantId: context.tenant.id,
      challengeId,
      refreshToken,
      version,
      isTold: isHeard,
      firstUse,
    };
    const attempted = this.#attempt(redemption, waits);
    const settled = attempted.catch(() => false).finally(() => this.#underWay.delete(challengeId));
    this.#underWay.set(challengeId, settled);
    return attempted;
  };

  #settle = async (batch: readonly Redemption[], options: { waits: boolean }): Promise<boolean[]> => {
    const { consumed, deliveries, switched } = await store.redeem(this.needs.database, batch, options);
    const events = batch.flatMap((one) => [...one.events, ...one.firstUse.events]);
    this.needs.records.announce(deliveries > 0 ? events : [], deliveries);
    this.needs.rotations.noticeSwitches(switched);
    return batch.map(({ challengeId }) => consumed.has(challengeId));
  };

  /**
   * A redemption by memory does not wait for locked rows, because the caller reads them then. The last check is for a
   * commit whose answer was lost: the redemption has used the challenge itself.
   */
  #attempt = async (redemption: Redemption, waits: boolean): Promise<boolean> =>
    (await this.#together.add(redemption)) ||
    (waits && (await this.#alone.add(redemption))) ||
    store.isRedeemed(this.needs.database, redemption.refreshToken.id);
}

function described(success: Success, isHeard: boolean): Happening {
  const { audit = [], events = [] } = describeSuccess(success);
  return { audit, events: isHeard ? events : [] };
}
