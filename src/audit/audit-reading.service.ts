// Reads the audit log and the checkpoints of one tenant, for that tenant.

import type { RequestContext } from '../platform/context.ts';
import { type Page, type PageRequest, toPage } from '../platform/database/page.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import { Service } from '../platform/service.ts';
import { type AccessRecordService, noteRead } from './access-record.service.ts';
import type { AuditFilters } from './audit.ts';
import * as store from './audit-reading.store.ts';
import type { SignedCheckpoint } from './checkpoint.store.ts';
import * as checkpoints from './checkpoint.store.ts';
import { toAuditJwk } from './checkpoint-signature.node.ts';
import { type KnownUsers, openRecords, type ReadRecord } from './named-users.service.ts';
import { noteKeyOf, noteOf } from './note.node.ts';

/** `note`: the checkpoint as a signed note; undefined where its key is gone. */
export type NotedCheckpoint = SignedCheckpoint & { readonly note: string | undefined };

/** `noteKeys`: what verifies the notes, in the form of C2SP signed-note. */
export type CheckpointPage = Page<NotedCheckpoint> & {
  readonly keys: readonly ReturnType<typeof toAuditJwk>[];
  readonly noteKeys: readonly string[];
};

/** The sealed addresses that one request opens at most: as many as the largest page without a filter. */
const MOST_OPENED = 200;

/**
 * Reading of the audit log. Reads are on record too, at most once a minute for each principal and operation. Source:
 * Specification, "audit logs record creation and verification".
 */
export class AuditReadingService extends Service<{
  database: Queryable;
  accesses: Pick<AccessRecordService, 'note'>;
  users: KnownUsers;
}> {
  /**
   * Returns a page of the tenant's log, newest first. Behind a filter by address it may have fewer entries, or none,
   * and a next page.
   */
  list = async (context: RequestContext, request: PageRequest & AuditFilters): Promise<Page<ReadRecord>> => {
    const { address, limit } = request;
    const most = address === undefined ? limit : MOST_OPENED;
    const found = await store.list(this.needs.database, context.tenant.id, { ...request, limit: most });
    const opened = await openRecords(this.needs.users, context.tenant.id, found.data);
    noteRead(this.needs.accesses, context, 'listAuditLogs');
    if (address === undefined) return { ...found, data: opened };
    const { data, nextCursor } = toPage(
      opened.filter((record) => record.address === address),
      limit,
    );
    return { data, nextCursor: nextCursor ?? found.nextCursor };
  };

  /** Counts an actor's tokens and failures in each of the last 24 hours, the oldest first. */
  countHours = async (context: RequestContext, actorId: string): Promise<store.ActorHour[]> => {
    const found = await store.countHours(this.needs.database, context.tenant.id, actorId);
    noteRead(this.needs.accesses, context, 'countAuditHours');
    return found;
  };

  /** @throws ServiceError `not_found` */
  get = async (context: RequestContext, id: string): Promise<ReadRecord> => {
    const found = await store.find(this.needs.database, context.tenant.id, id);
    const [record] =
      found === undefined ? [] : await openRecords(this.needs.users, context.tenant.id, [found]);
    if (record === undefined)
      throw new ServiceError('not_found', { detail: 'There is no such audit record.' });
    noteRead(this.needs.accesses, context, 'getAuditLog', id);
    return record;
  };

  /** Returns a page of the tenant's checkpoints, newest first. @param cursor only numbers below it */
  listCheckpoints = async (
    context: RequestContext,
    { limit, cursor: before }: { readonly limit: number; readonly cursor?: number | undefined },
  ): Promise<CheckpointPage> => {
    const [found, keys] = await Promise.all([
      checkpoints.listNewestCheckpoints(this.needs.database, context.tenant.id, { before, limit: limit + 1 }),
      checkpoints.readKeys(this.needs.database),
    ]);
    noteRead(this.needs.accesses, context, 'listAuditCheckpoints');
    const data = found
      .slice(0, limit)
      .map((checkpoint) => ({ ...checkpoint, note: noteOf(checkpoint, keys.get(checkpoint.keyId)) }));
    const last = data.at(-1);
    return {
      data,
      nextCursor: found.length > limit && last !== undefined ? String(last.n) : null,
      keys: [...keys.values()].map(toAuditJwk),
      noteKeys: [...keys.values()].map((key) => noteKeyOf(context.tenant.id, key)),
    };
  };
}
