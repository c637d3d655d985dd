// Wires the console: its sessions, and the links that sign in.
import type { Limits } from '../../platform/http/wire.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createConsoleCodeService } from './code.service.ts';
import { createConsoleRoutes } from './session.routes.ts';
import { createConsoleSessionService } from './session.service.ts';
import * as store from './session.store.ts';

/** @param rooms.limits limits wrong codes as failures of clients */
export function wireConsole(
  { config, database }: Platform,
  {
    limits,
    ...rooms
  }: Needs<typeof createConsoleSessionService, 'database' | 'failures'> & {
    limits: Pick<Limits, 'limitFailures'>;
  },
) {
  const failures = limits.limitFailures('console', config.rateLimit.clientFailures);
  const sessions = createConsoleSessionService({ ...rooms, database, failures });
  return { routes: createConsoleRoutes({ sessions }) };
}

/** Wires the command that makes links. */
export function wireConsoleCodes(
  { config, database }: Platform,
  rooms: Needs<typeof createConsoleCodeService, 'database'>,
) {
  const consoleCodes = createConsoleCodeService({ ...rooms, database });
  return { consoleCodes, defaultTenant: config.defaultTenant };
}

/** Purges of ended sessions and codes. Retention runs them. */
export const purgesOfConsole = {
  'console sessions': store.purgeSessions,
  'console codes': store.purgeCodes,
};
