// Erases tenants whose time is over: rows, then workflows, then the signed certificate. Each step is decided from the
// row of the end, so a repeated, late or needless request does no harm.
// docs/decisions/0045-erasure.md
import { setTimeout as sleep } from 'node:timers/promises';
import type { ErasureCertificateService } from '../../audit/erasure.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import * as store from './tenant-end.store.ts';
import { decideEndStep, type EndStep, type TenantEnd } from './tenant-end.ts';
import type { TenantHistories } from './tenant-history.client.ts';

/** `eraseAt` is ISO 8601. `removed`: rows and workflows that are gone so far. */
export type TenantEndStanding = {
  readonly step: EndStep;
  readonly status: 'ending' | 'erasing' | 'erased' | 'restored';
  readonly eraseAt: string | null;
  readonly removed: number;
};

export type TenantEndName = { readonly tenantId: string };

/** `heartbeat` reports that a step is alive; `signal` stops the step. */
type Pulse = { readonly heartbeat: () => void; readonly signal: AbortSignal };

export type TenantErasureNeeds = {
  /** Its statements may take minutes: some tables have no index by tenant. */
  database: Pick<Database, 'query' | 'transaction'>;
  tenants: Pick<TenantService, 'lockById' | 'remove'>;
  certificates: Pick<ErasureCertificateService, 'hasUnsealed' | 'certify' | 'isErased'>;
  histories: TenantHistories;
  chunk?: number | undefined;
};

/** Rows of one statement. */
const CHUNK = 1_000;

/** Milliseconds between two heartbeats. */
const BEAT = 10_000;

export class TenantErasureService extends Service<TenantErasureNeeds> {
  readonly #chunk = this.needs.chunk ?? CHUNK;

  /** Returns how the erasure of the tenant stands. */
  look = async ({ tenantId }: TenantEndName) => {
    const end = await store.read(this.needs.database, tenantId);
    return standingOf(end, end === undefined && (await this.needs.certificates.isErased(tenantId)));
  };

  /** Describes the end of a tenant for an operator. */
  describe = async ({ tenantId }: TenantEndName) => {
    const end = await store.read(this.needs.database, tenantId);
    return end && { summary: `${end.slug} · erased ${end.eraseAt.toISOString().slice(0, 16)}Z` };
  };

  /**
   * Removes all rows and workflows of a tenant whose time is over, and signs a certificate. It can be repeated at any
   * point.
   * @returns the state afterwards
   * @throws Error when something is left, or rows of the audit log are not sealed yet: to be repeated
   */
  erase = async (name: TenantEndName, pulse: Pulse): Promise<TenantEndStanding> => {
    const { database, histories } = this.needs;
    const { tenantId } = name;
    const end = await store.read(database, tenantId);
    if (decideEndStep(end).kind !== 'erase') return this.look(name);
    const beating = setInterval(pulse.heartbeat, BEAT);
    try {
      await this.#removeRows(tenantId, pulse.signal);
      await store.count(database, tenantId, 'workflows', await histories.remove(tenantId, pulse.signal));
      // What a workflow has written meanwhile.
      await this.#removeRows(tenantId, pulse.signal);
      await store.renewStatistics(database);
      await this.#finish(tenantId);
    } finally {
      clearInterval(beating);
    }
    return this.look(name);
  };

  /** Each chunk is followed by a rest as long as it took, so that traffic is not slowed. */
  #removeRows = async (tenantId: string, signal: AbortSignal): Promise<void> => {
    for (const { table, remove } of store.REMOVALS) {
      // A checkpoint has the hash of each row, so a row goes only after its seal.
      if (table === 'audit_log' && (await this.needs.certificates.hasUnsealed(tenantId)))
        throw new Error('rows of the audit log are not sealed yet');
      for (let removed = this.#chunk; removed >= this.#chunk; ) {
        signal.throwIfAborted();
        const start = performance.now();
        removed = await remove(this.needs.database, tenantId, this.#chunk);
        if (removed >= this.#chunk) await sleep(performance.now() - start, undefined, { signal });
      }
    }
  };

  #finish = (tenantId: string): Promise<void> =>
    this.needs.database.transaction({}, async (transaction) => {
      const tenant = await this.needs.tenants.lockById(transaction, tenantId);
      const end = await store.read(transaction, tenantId);
      if (tenant === undefined || end === undefined) return;
      const left = await store.listLeft(transaction, tenantId);
      if (left.length > 0) throw new Error(`rows of the tenant are left in ${left.join(', ')}`);
      const { slug, askedAt, now: erasedAt, removed } = end;
      await this.needs.certificates.certify(transaction, { tenantId, slug, askedAt, erasedAt, removed });
      await store.remove(transaction, tenantId);
      await this.needs.tenants.remove(transaction, tenant);
      await store.renewStatistics(transaction, ['tenants', 'tenant_ends']);
    });
}

function standingOf(end: TenantEnd | undefined, isErased: boolean): TenantEndStanding {
  const step = decideEndStep(end);
  if (end === undefined) return { step, status: isErased ? 'erased' : 'restored', eraseAt: null, removed: 0 };
  return {
    step,
    status: step.kind === 'erase' ? 'erasing' : 'ending',
    eraseAt: end.eraseAt.toISOString(),
    removed: Object.values(end.removed).reduce((sum, n) => sum + n, 0),
  };
}
