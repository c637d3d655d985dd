// Wires enrollments, with which an agent registers its first key.
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import type { Limits } from '../../platform/http/wire.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createEnrollmentRoutes } from './enrollment.routes.ts';
import { createEnrollmentService } from './enrollment.service.ts';
import * as enrollmentStore from './enrollment.store.ts';
import { createEnrollmentFailureService } from './enrollment-failure.service.ts';

export function wireEnrollments(
  { config, database }: Platform,
  {
    limits,
    ...rooms
  }: Needs<typeof createEnrollmentService, 'database' | 'failures'> &
    Needs<typeof createEnrollmentFailureService, 'database' | 'limiter' | 'bruteForce'> & {
      limits: Pick<Limits, 'limitFailures'>;
    },
) {
  const limit = config.rateLimit.fingerprintFailures;
  const failures = createEnrollmentFailureService({
    ...rooms,
    database,
    limiter: limits.limitFailures('enrollment', limit),
    bruteForce: createBruteForceService({ database, limit }),
  });
  const enrollments = createEnrollmentService({ ...rooms, database, failures });
  return { enrollments, routes: createEnrollmentRoutes({ enrollments }) };
}

/** Purge of old enrollment tokens. Retention runs it. */
export const purgesOfEnrollments = { 'enrollment tokens': enrollmentStore.purge };
