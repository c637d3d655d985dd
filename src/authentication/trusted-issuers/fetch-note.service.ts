// Notes what each fetch of an issuer's keys met, and in the audit log when fetches begin to fail or succeed again.

import { serviceContext } from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import { FETCHES, type IssuerKind } from './fetch-note.store.ts';
import type { FetchedIssuer } from './trusted-issuer.ts';

type Needs = { database: Pick<Database, 'transaction'>; records: Pick<RecordService, 'write'> };

/** `error` is null after a good fetch. */
export type NoteFetch = (issuer: FetchedIssuer, error: string | null) => Promise<void>;

/** Notes nothing for an issuer that is gone, or whose keys have another address now. */
export function createFetchNote(kind: IssuerKind, { database, records }: Needs): NoteFetch {
  return (fetched, error) =>
    database.transaction({}, async (transaction) => {
      const { id, tenantId, jwksUri } = fetched;
      const noted = await FETCHES[kind].noteFetch(transaction, id, tenantId, jwksUri, error);
      if (!noted?.isOther) return;
      await records.write(transaction, serviceContext({ id: tenantId }, newId()), {
        audit: [
          {
            action: `${kind}.keys.fetched`,
            outcome: error === null ? 'success' : 'failure',
            target: { type: kind, id },
            data: { issuer: noted.issuer, ...(error !== null && { error }) },
          },
        ],
      });
    });
}
