// Wires applications and their secrets.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createApplicationRoutes } from './application.routes.ts';
import { createApplicationService } from './application.service.ts';

export function wireApplications(
  { database }: Platform,
  rooms: Needs<typeof createApplicationService, 'database'>,
) {
  const applications = createApplicationService({
    ...rooms,
    database,
  });
  return { applications, routes: createApplicationRoutes({ applications }) };
}
