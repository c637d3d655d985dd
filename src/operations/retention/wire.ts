// Wires retention with the purges of all rooms.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createRetentionService } from './retention.service.ts';

export function wireRetention(
  { database }: Platform,
  rooms: Needs<typeof createRetentionService, 'database' | 'settings'>,
) {
  return createRetentionService({ ...rooms, database });
}
