// Why an endpoint is not probed when somebody asks for it. Pure.
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { Subscription } from './subscription-reading.service.ts';

const OPEN = {
  open: 'The endpoint is open: it takes deliveries, so there is nothing to probe.',
  failing: 'The endpoint is failing, but not closed: a delivery that waits goes out now when it is retried.',
  releasing: 'The endpoint is releasing already: what waited goes out.',
  probing: 'The endpoint is probing already: one delivery may go out, or is under way.',
  suspended: 'The tenant is suspended.',
} as const;

/** @returns undefined for an endpoint that can be probed: it is held or down, and a delivery waits */
export function whyNotProbed({
  state,
  heldBy,
  waiting,
}: Pick<Subscription['endpoint'], 'state' | 'heldBy' | 'waiting'>): ServiceError | undefined {
  if (state === 'inactive')
    return new ServiceError('subscription_inactive', {
      detail: 'The subscription is not active. Activating it probes its endpoint.',
    });
  const conflict = (detail: string) => new ServiceError('conflict', { detail });
  if (state !== 'held' && state !== 'down') return conflict(OPEN[state]);
  if (heldBy === 'operator')
    return conflict('The operator of this service holds the host, for all who send to it.');
  if (waiting === 0)
    return conflict('No delivery waits for the endpoint. Send a test delivery, and probe with that.');
  return undefined;
}
