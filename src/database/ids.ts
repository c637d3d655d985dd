// Ids of rows: UUIDv7 (RFC 9562 §5.7), made here so that a statement can be repeated with the same ids.
import { v7 } from 'uuid';

/** A new, time-ordered UUID. */
export function newId(): string {
  return v7();
}
