// Wires enrollments, with which an agent registers its first key.
import { BruteForceService } from '../../audit/brute-force.service.ts';
import type { FailureLimits } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { type EnrollmentNeeds, EnrollmentService } from './enrollment.service.ts';
import { EnrollmentFailureService } from './enrollment-failure.service.ts';

export function wireEnrollments(
  { config, database }: Platform,
  { limits, ...rooms }: Omit<EnrollmentNeeds, 'database' | 'failures'> & FailureLimits,
) {
  const limit = config.rateLimit.fingerprintFailures;
  const limiter = limits.limitFailures('enrollment', limit);
  const bruteForce = new BruteForceService({ database, limit });
  const failures = new EnrollmentFailureService({ ...rooms, database, limiter, bruteForce });
  return new EnrollmentService({ ...rooms, database, failures });
}
