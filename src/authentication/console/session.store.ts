// SQL of the console's sessions and codes. Every statement is bound to one tenant; none has the text of a secret.
import { deleteOldest } from '../../platform/database/deletion.ts';
import { changed, counted, one } from '../../platform/database/statements.ts';
import type { ConsoleSessionRow } from './session.model.ts';

/** A session ends an hour after its last use, and eight hours after it began. */
const IDLE = "interval '1 hour'";
const LONGEST = "interval '8 hours'";
const CODE_LIFE = "interval '10 minutes'";

/** The most tokens of a session that end with it. */
const TOKENS_KEPT = 50;

const IS_LIVE_CODE = 'tenant_id = $1 AND hash = $2 AND expires_at > now()';
const IS_LIVE = `tenant_id = $1 AND hash = $2 AND created_at > now() - ${LONGEST} AND used_at > now() - ${IDLE}`;

export type Session = Pick<ConsoleSessionRow, 'id' | 'applicationId' | 'secretId'>;

/** Where a code or a session is. */
type Place = [tenantId: string, hash: Uint8Array];

export const insertCode = changed<[...Place, applicationId: string]>(
  `INSERT INTO console_codes (tenant_id, hash, application_id, expires_at) VALUES ($1, $2, $3, now() + ${CODE_LIFE})`,
);

/** Reads the application of a live code, which stays as it is. */
export const findCode = one<Pick<ConsoleSessionRow, 'applicationId'>, Place>(
  `SELECT application_id FROM console_codes WHERE ${IS_LIVE_CODE}`,
);

/** Uses a live code up. @returns false when it was used meanwhile */
export const takeCode = changed<Place>(`DELETE FROM console_codes WHERE ${IS_LIVE_CODE}`);

/** Removes all codes of all tenants. @returns their number */
export const removeCodes = counted('DELETE FROM console_codes');

export const insert = changed<[...Place, id: string, applicationId: string, secretId: string | null]>(
  'INSERT INTO console_sessions (tenant_id, hash, id, application_id, secret_id) VALUES ($1, $2, $3, $4, $5)',
);

export const find = one<Session, Place>(
  `SELECT id, application_id, secret_id FROM console_sessions WHERE ${IS_LIVE}`,
);

/** Records the use of a live session, and the token that it gets. @returns false when it has ended meanwhile */
export const use = changed<[...Place, tokenId: string]>(
  `UPDATE console_sessions
   SET used_at = now(), token_ids = token_ids[greatest(1, cardinality(token_ids) - ${TOKENS_KEPT - 2}):] || $3::uuid
   WHERE ${IS_LIVE}`,
);

/** @returns the session that was removed, with its tokens */
export const remove = one<Session & Pick<ConsoleSessionRow, 'tokenIds'>, Place>(
  `DELETE FROM console_sessions WHERE tenant_id = $1 AND hash = $2
   RETURNING id, application_id, secret_id, token_ids`,
);

/** Deletes ended sessions. @returns the number deleted, at most `limit` */
export const purgeSessions = deleteOldest('console_sessions', {
  key: ['id'],
  old: `created_at < now() - ${LONGEST}`,
  by: 'created_at',
});

/** Deletes expired codes. @returns the number deleted, at most `limit` */
export const purgeCodes = deleteOldest('console_codes', {
  key: ['hash'],
  old: 'expires_at < now()',
  by: 'expires_at',
});
