// What the console says of an endpoint in trouble, for each state, and of a tenant.
import { describe, expect, it } from 'vitest';
import { formatClock } from '../../src/console/format.ts';
import { groupFailures, measureRecent } from '../../src/console/recent.ts';
import { describeTrouble, judgeTenant } from '../../src/console/trouble.ts';

type Whole = Parameters<typeof describeTrouble>[0]['endpoint'];
const SINCE = '2026-01-02T00:30:00.000Z';
const NEXT = '2026-01-02T00:39:51.000Z';
type Endpoint = Partial<Whole>;
const CALM: Whole = {
  state: 'open',
  held_by: null,
  hold_until: null,
  failing_since: null,
  next_probe_at: null,
  last_error: null,
  waiting: 3,
  failures: [],
};
const code = (error: string) => ({ error, status_code: null, waiting: 1, failed: 0 });
const FAILS: Endpoint = { failing_since: SINCE, last_error: 'http:401', failures: [code('http:401')] };
const since = formatClock(SINCE);
const next = formatClock(NEXT);

describe('an endpoint', () => {
  it.each<[string, Endpoint, string]>([
    ['open', {}, ''],
    [
      'down',
      { ...FAILS, state: 'down', next_probe_at: NEXT },
      `Nothing but HTTP 401 since ${since}. The next delivery goes out at ${next}.`,
    ],
    [
      'down of several codes',
      { ...FAILS, state: 'down', next_probe_at: NEXT, failures: [code('timeout'), code('http:401')] },
      `Nothing but failures since ${since}, the latest HTTP 401. The next delivery goes out at ${next}.`,
    ],
    [
      'down with nothing to send',
      { ...FAILS, state: 'down', next_probe_at: NEXT, waiting: 0 },
      `Nothing but HTTP 401 since ${since}. Nothing waits. From ${next} on the next delivery is its probe.`,
    ],
    [
      'held',
      { state: 'held', held_by: 'endpoint', hold_until: NEXT, next_probe_at: NEXT },
      `The next delivery may go out at ${next}.`,
    ],
    [
      'held by the operator',
      { state: 'held', held_by: 'operator' },
      'The operator of this service holds the host.',
    ],
    [
      'held by the operator for a time',
      { state: 'held', held_by: 'operator', hold_until: NEXT },
      `The operator of this service holds the host until ${next}.`,
    ],
    [
      'probing',
      { ...FAILS, state: 'probing' },
      `Nothing but HTTP 401 since ${since}. One delivery goes out now; the others follow if it is taken.`,
    ],
    [
      'failing',
      { ...FAILS, state: 'failing' },
      `Nothing but HTTP 401 since ${since}. What waits is tried again by its schedule.`,
    ],
    [
      'failing with nothing to send',
      { ...FAILS, state: 'failing', waiting: 0 },
      `Nothing but HTTP 401 since ${since}.`,
    ],
    [
      'releasing',
      { state: 'releasing' },
      'It takes deliveries again: what waited goes out, slowly at first.',
    ],
    ['inactive', { state: 'inactive' }, 'No attempt begins until the subscription is resumed.'],
  ])('that is %s', (_, endpoint, sentence) => {
    expect(describeTrouble({ disabled_reason: null, endpoint: { ...CALM, ...endpoint } })).toBe(sentence);
  });

  it.each([
    ['gone', 'the receiver has answered HTTP 410'],
    ['failing', 'after days of nothing but failures'],
  ])('that the service has deactivated as %s', (reason, words) => {
    const endpoint = { ...CALM, state: 'inactive' as const };
    expect(describeTrouble({ disabled_reason: reason, endpoint })).toContain(words);
  });
});

describe('a tenant', () => {
  const NOW = Date.parse('2026-01-02T12:00:00Z');
  type Watched = Parameters<typeof judgeTenant>[0][number];
  const of = (
    state: Watched['endpoint']['state'],
    waiting: number,
    disabled_reason: string | null = null,
  ) => ({
    ...{ disabled_reason, endpoint: { state, waiting } },
  });
  const HOUR = '2026-01-02T11:00:00Z';

  it.each<[string, Watched[], string[], boolean, string, string]>([
    ['without a subscription', [], [], false, 'pending', 'Nothing goes out yet: there is no subscription.'],
    [
      'whose endpoints take deliveries, come back, or were paused by a person',
      [of('open', 7), of('inactive', 1), of('releasing', 9)],
      ['2026-01-01T11:59:59Z', ''],
      true,
      'success',
      'All is well: no endpoint is in trouble, no delivery has failed in 24 hours.',
    ],
    [
      'with an endpoint that the service has deactivated',
      [of('inactive', 1, 'gone')],
      [],
      false,
      'down',
      '1 endpoint is in trouble, 1 waiting.',
    ],
    [
      'with a failed delivery',
      [of('open', 7)],
      [HOUR],
      false,
      'failing',
      'No endpoint is in trouble. 1 delivery has failed for good in 24 hours.',
    ],
    [
      'with more failed deliveries than a page has',
      [of('open', 7), of('down', 3), of('held', 1_000)],
      [HOUR, HOUR],
      true,
      'down',
      '2 endpoints are in trouble, 1,003 waiting. At least 2 deliveries have failed for good in 24 hours.',
    ],
  ])('%s', (_, subscriptions, failedAt, hasMore, tone, words) => {
    expect(judgeTenant(subscriptions, { failedAt, hasMore }, NOW)).toEqual({ tone, words });
  });
});

it('has equal failures in one group, with the times of the first and the last', () => {
  const failed = (subscription_id: string, created_at: string, code: number | null) => ({
    ...{ subscription_id, created_at, last_status_code: code, attempt_count: 3 },
    last_error: code === null ? 'timeout' : `http:${code}`,
  });
  const of = [failed('a', '4', 422), failed('b', '3', 422), failed('a', '2', null), failed('a', '1', 422)];
  expect(groupFailures(of)).toEqual([
    { subscription: 'a', answer: 'HTTP 422', count: 2, first: '1', last: '4' },
    { subscription: 'b', answer: 'HTTP 422', count: 1, first: '3', last: '3' },
    { subscription: 'a', answer: 'timeout', count: 1, first: '2', last: '2' },
  ]);
});

describe('the newest deliveries', () => {
  const delivered = (ms: number) => ({
    status: 'delivered' as const,
    created_at: '2026-01-02T03:04:05.000Z',
    completed_at: new Date(Date.parse('2026-01-02T03:04:05.000Z') + ms).toISOString(),
  });
  const other = (status: 'failed' | 'retrying') => ({ ...delivered(0), status });

  it('say how many of those that have ended arrived, and how soon', () => {
    const of = [...Array.from({ length: 98 }, (_, n) => delivered((n + 1) * 10)), other('retrying')];
    expect(measureRecent([...of, other('failed'), other('failed')])).toEqual({
      ...{ arrived: '98 %', half: '490 ms', most: '940 ms' },
    });
  });

  it('never say that all arrived where one has not', () => {
    const of = Array.from({ length: 2_999 }, () => delivered(5));
    expect(measureRecent([...of, other('failed')]).arrived).toBe('99.9 %');
  });

  it('say nothing before one has ended', () => {
    expect(measureRecent([other('retrying')])).toEqual({ arrived: '–', half: '–', most: '–' });
  });
});
