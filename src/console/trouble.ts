// Words the trouble of an endpoint: its cause, and the next attempt.
import { describeError, formatClock } from './format.ts';
import type { SubscriptionDetails } from './types.ts';

type Troubled = Pick<SubscriptionDetails, 'disabled_reason'> & {
  readonly endpoint: Pick<
    SubscriptionDetails['endpoint'],
    | 'state'
    | 'held_by'
    | 'hold_until'
    | 'failing_since'
    | 'next_probe_at'
    | 'last_error'
    | 'waiting'
    | 'failures'
  >;
};

const DISABLED: Readonly<Record<string, string>> = {
  gone: 'It was deactivated: the receiver has answered HTTP 410.',
  failing: 'It was deactivated after days of nothing but failures.',
};

/** @returns what a page says of the endpoint; empty for one that takes deliveries */
export function describeTrouble({ disabled_reason: reason, endpoint }: Troubled): string {
  if (endpoint.state === 'open') return '';
  const inactive = DISABLED[reason ?? ''] ?? 'No attempt begins until the subscription is resumed.';
  const next = endpoint.state === 'inactive' ? inactive : describeNext(endpoint);
  return [describeCause(endpoint), next].filter(Boolean).join(' ');
}

function describeCause({ failing_since: since, last_error: error, failures }: Troubled['endpoint']): string {
  if (since === null) return '';
  if (error === null) return `Nothing but failures since ${formatClock(since)}.`;
  const isOnly = failures.every((failure) => failure.error === error);
  const [what, latest] = isOnly
    ? [describeError(error), '']
    : ['failures', `, the latest ${describeError(error)}`];
  return `Nothing but ${what} since ${formatClock(since)}${latest}.`;
}

function describeNext(endpoint: Troubled['endpoint']): string {
  const { state, held_by: holder, hold_until: until, next_probe_at: probe, waiting } = endpoint;
  if (state === 'suspended') return 'The tenant is suspended: nothing goes out.';
  if (state === 'releasing') return 'It takes deliveries again: what waited goes out, slowly at first.';
  if (state === 'probing')
    return waiting === 0
      ? 'The next delivery is its probe.'
      : 'One delivery goes out now; the others follow if it is taken.';
  if (state === 'failing') return waiting === 0 ? '' : 'What waits is tried again by its schedule.';
  if (holder === 'operator')
    return `The operator of this service holds the host${until === null ? '' : ` until ${formatClock(until)}`}.`;
  if (probe === null) return '';
  return waiting === 0
    ? `Nothing waits. From ${formatClock(probe)} on the next delivery is its probe.`
    : `The next delivery ${state === 'held' ? 'may go' : 'goes'} out at ${formatClock(probe)}.`;
}
