// Wires applications, the clients of a tenant, with their secrets.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createApplicationRoutes } from './application.routes.ts';
import { createApplicationService } from './application.service.ts';
import { createApplicationStore } from './application.store.ts';
import { createSecretStore } from './secret.store.ts';

export function wireApplications(
  { database }: Platform,
  rooms: Needs<typeof createApplicationService, 'database' | 'store' | 'secrets'>,
) {
  const applications = createApplicationService({
    ...rooms,
    database,
    store: createApplicationStore({ database, sequelize: database.sequelize }),
    secrets: createSecretStore({ database }),
  });
  return { applications, routes: createApplicationRoutes({ applications }) };
}
