// What the console says of an endpoint in trouble, for each state.
import { describe, expect, it } from 'vitest';
import { formatClock } from '../../src/console/format.ts';
import { describeTrouble } from '../../src/console/trouble.ts';

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
