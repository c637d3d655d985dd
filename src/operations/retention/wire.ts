// Wires retention: the purges of all rooms, and the retention time of each.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createRetentionService } from './retention.service.ts';

export function wireRetention(
  { database }: Platform,
  rooms: Needs<typeof createRetentionService, 'database' | 'settings'>,
) {
  return createRetentionService({ ...rooms, database });
}
