// The beginning of the audit log, and the exact text that `migrate` signs for it.
import { comparePositions, type Position } from './checkpoint.ts';
import { LONGEST_TRANSACTION } from './verification.ts';

/** What an earlier version had written when this one took its log over. */
export type Adoption = { readonly seals: number; readonly last: Position | null };

export type Beginning = {
  readonly id: string;
  readonly beganAt: string;
  /** Null where the log began with the installation. */
  readonly adopted: Adoption | null;
  readonly keyId: string;
};

/** Builds the text whose hash is the head's before the first seal, and that the first seal names. */
export function beginningStatement({ id, beganAt, adopted, keyId }: Beginning): string {
  const { seals, last } = adopted ?? {};
  const rows = last == null ? '-' : `${last.xid}/${last.id}`;
  return ['SERVICE-AUDIT-BEGINNING-V1', id, beganAt, seals ?? '-', rows, keyId].join('\n');
}

/** Returns whether a row was there when the log of an earlier version was taken over. */
export function isAdopted({ adopted }: Pick<Beginning, 'adopted'>, position: Position): boolean {
  if (adopted === null) return false;
  return adopted.last !== null && comparePositions(position, adopted.last) <= 0;
}

/** Returns whether a row says that it is older than the log. @param occurredAt milliseconds since 1970 */
export function isBefore(beginning: Beginning, occurredAt: number, position: Position): boolean {
  const isOld = occurredAt < Date.parse(beginning.beganAt) - LONGEST_TRANSACTION;
  return isOld && !isAdopted(beginning, position);
}
