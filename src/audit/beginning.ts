// The beginning of the audit log, and the exact text that `migrate` signs for it.
// docs/decisions/0022-audit-beginning-and-tree.md
import { LONGEST_TRANSACTION } from './verification.ts';

export type Beginning = {
  readonly id: string;
  readonly beganAt: string;
  readonly keyId: string;
};

/** Builds the text whose hash is the head's before the first seal, and that the first seal names. */
export function beginningStatement({ id, beganAt, keyId }: Beginning): string {
  return ['SERVICE-AUDIT-BEGINNING-V1', id, beganAt, keyId].join('\n');
}

/** Returns whether a row says that it is older than the log. @param occurredAt milliseconds since 1970 */
export function isBefore({ beganAt }: Beginning, occurredAt: number): boolean {
  return occurredAt < Date.parse(beganAt) - LONGEST_TRANSACTION;
}
