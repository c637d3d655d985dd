// Words the trouble of an endpoint: its cause, and the next attempt; and whether a tenant is in trouble.
import { count, describeError, formatClock, formatNumber } from './format.ts';
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

type Watched = Pick<SubscriptionDetails, 'disabled_reason'> & {
  readonly endpoint: Pick<SubscriptionDetails['endpoint'], 'state' | 'waiting'>;
};

const DAY_MS = 86_400_000;

/** Whether somebody has to look: not at one that comes back, nor at one that a person has paused. */
export function isTroubled({ disabled_reason: reason, endpoint: { state } }: Watched): boolean {
  if (state === 'inactive') return reason !== null && reason in DISABLED;
  return state !== 'open' && state !== 'releasing';
}

/**
 * @param failedAt when the newest failed deliveries have ended @param hasMore there are older ones
 * @returns a sentence that answers whether all is right, and the state whose look it has
 */
export function judgeTenant(
  subscriptions: readonly Watched[],
  { failedAt, hasMore }: { readonly failedAt: readonly string[]; readonly hasMore: boolean },
  now: number,
): { readonly tone: 'success' | 'pending' | 'failing' | 'down'; readonly words: string } {
  if (subscriptions.length === 0)
    return { tone: 'pending', words: 'Nothing goes out yet: there is no subscription.' };
  const troubled = subscriptions.filter(isTroubled);
  const waiting = troubled.reduce((sum, { endpoint }) => sum + endpoint.waiting, 0);
  const recent = failedAt.filter((time) => now - Date.parse(time) < DAY_MS).length;
  const most = hasMore && recent === failedAt.length ? 'At least ' : '';
  const failed =
    recent === 0
      ? ''
      : ` ${most}${count(recent, 'delivery has', 'deliveries have')} failed for good in 24 hours.`;
  if (troubled.length > 0)
    return {
      tone: 'down',
      words: `${count(troubled.length, 'endpoint is', 'endpoints are')} in trouble, ${formatNumber(waiting)} waiting.${failed}`,
    };
  if (failed !== '') return { tone: 'failing', words: `No endpoint is in trouble.${failed}` };
  return {
    tone: 'success',
    words: 'All is well: no endpoint is in trouble, no delivery has failed in 24 hours.',
  };
}
