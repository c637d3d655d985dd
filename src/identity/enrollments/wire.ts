// Wires enrollments, with which an agent registers its first key.
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import type { FailureLimits } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/platform.ts';
import { createEnrollmentService, type EnrollmentNeeds } from './enrollment.service.ts';
import { createEnrollmentFailureService } from './enrollment-failure.service.ts';

export function wireEnrollments(
  { config, database }: Platform,
  { limits, ...rooms }: Omit<EnrollmentNeeds, 'database' | 'failures'> & FailureLimits,
) {
  const limit = config.rateLimit.fingerprintFailures;
  const limiter = limits.limitFailures('enrollment', limit);
  const bruteForce = createBruteForceService({ database, limit });
  const failures = createEnrollmentFailureService({ ...rooms, database, limiter, bruteForce });
  return createEnrollmentService({ ...rooms, database, failures });
}
