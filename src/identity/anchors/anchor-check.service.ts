// Looking for anchors' proofs, and what comes of it. Postgres decides each step anew, so a step asked for twice, late or for nothing does
// no harm. It must never hold a transaction while it looks.

import { type AuditContext, operatorContext, serviceContext } from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { AgentService } from '../agents/agent.service.ts';
import type { TenantService } from '../tenants/tenant.service.ts';
import type { AnchorStatus } from './anchor.ts';
import type { AnchorCase, CheckedAnchor } from './anchor-check.store.ts';
import * as store from './anchor-check.store.ts';
import {
  type AnchorStep,
  decideAnchorStep,
  errorOf,
  FOUND,
  judgeLook,
  type LookEffect,
  revocationTime,
} from './anchor-check.ts';
import type { AnchorProgressService } from './anchor-progress.service.ts';
import * as turns from './anchor-turn.store.ts';
import type { ProofLooker } from './proof.client.ts';

export type { CheckedAnchor } from './anchor-check.store.ts';

/** How an anchor stands: `gone` with its agent. Times in ISO 8601; `lastOutcome`: `found`, or a code such as `http:404`. */
export type AnchorStanding = {
  readonly step: AnchorStep;
  readonly status: AnchorStatus | 'gone';
  readonly lastOutcome: string | null;
  readonly lastCheckedAt: string | null;
  readonly lastFoundAt: string | null;
  readonly missingSince: string | null;
  readonly expiresAt: string | null;
};

type Context = AuditContext & { readonly transaction: Transaction };

/**
 * The steps of anchors.
 * @param looker looks for a proof
 * @param random from 0 to 1, for the jitter of looks
 */
export function createAnchorCheckService({
  database,
  tenants,
  agents,
  progress,
  looker,
  random = Math.random,
}: {
  database: Pick<Database, 'transaction' | 'query'>;
  tenants: Pick<TenantService, 'byId'>;
  agents: Pick<AgentService, 'hold'>;
  progress: AnchorProgressService;
  looker: ProofLooker;
  random?: (() => number) | undefined;
}) {
  const look = async (name: CheckedAnchor): Promise<AnchorStanding> =>
    standingOf(await store.read(database, name));

  /** Runs `work` on the anchor as it stands under its lock; not at all when it is gone with its agent. */
  async function change(
    name: CheckedAnchor,
    work: (context: Context, found: AnchorCase) => Promise<void>,
  ): Promise<AnchorStanding> {
    const tenant = await tenants.byId(name.tenantId);
    const known = await store.read(database, name);
    if (tenant === undefined || known === undefined) return GONE;
    return database.transaction({}, async (transaction) => {
      const context = { ...serviceContext(tenant, newId()), tenant, transaction };
      try {
        await agents.hold(transaction, context, known.agentId);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'not_found') return GONE;
        throw error;
      }
      await store.lock(transaction, name);
      const found = await store.read(transaction, name);
      if (found !== undefined) await work(context, found);
      return standingOf(await store.read(transaction, name));
    });
  }

  async function record(
    context: Context,
    found: AnchorCase,
    outcome: string,
    effect: LookEffect,
  ): Promise<void> {
    const { transaction } = context;
    await store.record(transaction, found.id, outcome, effect);
    if (effect.change === 'verified') await progress.tell(transaction, context, 'verified', found);
    if (effect.missingSince === null || effect.change === null) return;
    const facts = { missing_since: effect.missingSince.toISOString(), last_error: outcome };
    if (effect.change === 'missing') {
      const at = revocationTime(effect.missingSince).toISOString();
      await progress.tell(transaction, context, 'missing', found, { ...facts, revokes_at: at });
    } else
      await progress.tell(transaction, context, 'revoked', found, {
        was: found.status,
        reason: 'proof_missing',
        ...facts,
      });
  }

  return {
    /** How an anchor stands, and what is due for it. One round trip; changes nothing. */
    look,

    /** What an operator is shown of an anchor: its domain and type, and whose it is. */
    describe: async (
      name: CheckedAnchor,
    ): Promise<{ summary: string; agentId: string; host: string } | undefined> => {
      const found = await store.read(database, name);
      return (
        found && { summary: `${found.value} · ${found.type}`, agentId: found.agentId, host: found.value }
      );
    },

    /**
     * Looks for the proof if that is due, and writes down what came of it. It is put off, and nothing is written down, while an operator
     * holds the host or suspends the tenant, and when the tenant's domain was looked at within five seconds. Of several looks at once the first that is over counts. Emits
     * `admin.agent.anchor.verified`, `missing` or `revoked`.
     * @returns how the anchor stands afterwards
     */
    check: async (name: CheckedAnchor): Promise<AnchorStanding> => {
      const before = await store.read(database, name);
      if (before === undefined || decideAnchorStep(before).kind !== 'look') return standingOf(before);
      if (!(await database.transaction({}, (transaction) => turns.take(transaction, name))))
        return look(name);
      const outcome = await looker.look(before);
      return change(name, async (context, found) => {
        if (found.checks !== before.checks) return;
        const effect = judgeLook({ ...found, beganAt: before.now }, outcome === FOUND, random());
        if (effect !== null) await record(context, found, outcome, effect);
      });
    },

    /** Writes down that the time of a pending anchor is over. Emits `admin.agent.anchor.failed`. @returns how it stands afterwards */
    fail: (name: CheckedAnchor): Promise<AnchorStanding> =>
      change(name, async (context, found) => {
        if (decideAnchorStep(found).kind !== 'fail') return;
        await store.fail(context.transaction, found.id);
        await progress.tell(context.transaction, context, 'failed', found, { last_error: errorOf(found) });
      }),

    /**
     * Makes a look due now because an operator asks for one, with an audit entry.
     * @param reason for the audit log
     * @throws ServiceError `not_found`, `conflict` when the anchor has ended
     */
    requestByOperator: async (name: CheckedAnchor, reason?: string | undefined): Promise<void> => {
      const tenant = await tenants.byId(name.tenantId);
      const found = await store.read(database, name);
      if (tenant === undefined || found === undefined)
        throw new ServiceError('not_found', { detail: 'There is no such anchor.' });
      await database.transaction({}, async (transaction) => {
        if (!(await store.request(transaction, name, { atOnce: true })))
          throw new ServiceError('conflict', { detail: 'The anchor has ended.' });
        const context = operatorContext(tenant, newId());
        await progress.tell(
          transaction,
          context,
          'check_requested',
          found,
          reason === undefined ? {} : { reason },
        );
      });
    },

    /** Anchors whose anchorVerification should be running, a page at a time. */
    listExpectedWorkflows: store.listExpectedWorkflows,
  };
}

export type AnchorCheckService = ReturnType<typeof createAnchorCheckService>;

const GONE: AnchorStanding = {
  step: { kind: 'end' },
  status: 'gone',
  lastOutcome: null,
  lastCheckedAt: null,
  lastFoundAt: null,
  missingSince: null,
  expiresAt: null,
};

function standingOf(found: AnchorCase | undefined): AnchorStanding {
  if (found === undefined) return GONE;
  return {
    step: decideAnchorStep(found),
    status: found.status,
    lastOutcome: found.lastOutcome,
    lastCheckedAt: found.lastCheckedAt?.toISOString() ?? null,
    lastFoundAt: found.lastFoundAt?.toISOString() ?? null,
    missingSince: found.missingSince?.toISOString() ?? null,
    expiresAt: found.status === 'pending' ? found.expiresAt.toISOString() : null,
  };
}
