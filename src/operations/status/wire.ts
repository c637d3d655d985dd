// Wires `countersign status`.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createStatusService } from './status.service.ts';

export function wireStatus(
  { database, registry }: Platform,
  rooms: Needs<typeof createStatusService, 'database' | 'registry'>,
) {
  return createStatusService({ ...rooms, database, registry });
}
