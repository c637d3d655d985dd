// Reads the audit log and the checkpoints of one tenant, for that tenant.

import type { RequestContext } from '../platform/context.ts';
import type { Page, PageRequest } from '../platform/database/page.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import type { AuditFilters, AuditLogRecord } from './audit.ts';
import * as store from './audit-reading.store.ts';
import * as checkpoints from './checkpoint.store.ts';
import type { Checkpoint } from './checkpoint.ts';
import { type AuditJwk, toAuditJwk } from './checkpoint-signature.node.ts';

export type SignedCheckpoint = Checkpoint & { readonly signature: Uint8Array };

export type CheckpointPage = Page<SignedCheckpoint> & { readonly keys: readonly AuditJwk[] };

/** Reading of the audit log. Source: Specification, "audit logs record creation and verification". */
export function createAuditReadingService({ database }: { database: Queryable }) {
  return {
    /** Returns a page of the tenant's log, newest first. @throws ServiceError `invalid_request` for a foreign cursor */
    list: ({ tenant }: Tenanted, request: PageRequest & AuditFilters): Promise<Page<AuditLogRecord>> =>
      store.list(database, tenant.id, request),

    /** @throws ServiceError `not_found` */
    get: async ({ tenant }: Tenanted, id: string): Promise<AuditLogRecord> => {
      const record = await store.find(database, tenant.id, id);
      if (record === undefined)
        throw new ServiceError('not_found', { detail: 'There is no such audit record.' });
      return record;
    },

    /** Returns a page of the tenant's checkpoints, newest first. @param cursor only numbers below it */
    listCheckpoints: async (
      { tenant }: Tenanted,
      { limit, cursor: before }: { readonly limit: number; readonly cursor?: number | undefined },
    ): Promise<CheckpointPage> => {
      const [found, keys] = await Promise.all([
        checkpoints.listNewestCheckpoints(database, tenant.id, { before, limit: limit + 1 }),
        checkpoints.readKeys(database),
      ]);
      const data = found.slice(0, limit);
      const last = data.at(-1);
      return {
        data,
        nextCursor: found.length > limit && last !== undefined ? String(last.n) : null,
        keys: [...keys.values()].map(toAuditJwk),
      };
    },
  };
}

export type AuditReadingService = ReturnType<typeof createAuditReadingService>;

type Tenanted = Pick<RequestContext, 'tenant'>;
