// Wires retention: what the rooms say that they remove, and how long everything is kept.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createRetentionService } from './retention.service.ts';

export function wireRetention(
  { database }: Platform,
  rooms: Needs<typeof createRetentionService, 'database' | 'settings'>,
) {
  return createRetentionService({ ...rooms, database });
}
