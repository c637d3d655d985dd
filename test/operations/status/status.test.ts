// What of a standing needs a person.
import { expect, it } from 'vitest';
import { findTroubles, type Standing } from '../../../src/operations/status/status.ts';
import { wordErrors } from '../../../src/webhooks/endpoints/host-hold.ts';

const WELL: Standing = {
  version: '1',
  processes: [{ role: 'worker', count: 2, since: new Date(0) }],
  temporal: 'reachable',
  gauges: {
    waiting: 3,
    oldestWaiting: 1,
    oldestCommand: 0,
    overdue: 0,
    mostOverdue: 0,
    endpointsHeld: 1,
    endpointsDown: 1,
    unsealed: 2,
    unaccounted: 0,
  },
  failingHosts: [],
  failed: { total: 0, groups: [] },
  objectives: [],
  lastMended: null,
};

it.each<[string, Partial<Standing>, readonly RegExp[]]>([
  ['nothing', {}, []],
  ['no worker', { processes: [] }, [/No worker lives/]],
  ['a database that is away', { processes: null }, [/database does not answer/]],
  ['Temporal', { temporal: 'unreachable' }, [/Temporal does not answer/]],
  [
    'late deliveries',
    { gauges: { ...WELL.gauges, overdue: 4, mostOverdue: 301 } },
    [/4 deliveries are overdue/],
  ],
  ['a relay that lags', { gauges: { ...WELL.gauges, oldestWaiting: 61 } }, [/waited 61 s for a worker/]],
  ['a log without seal', { gauges: { ...WELL.gauges, unsealed: 301 } }, [/not been sealed for 301 s/]],
  [
    'what failed for good',
    {
      failed: {
        total: 16,
        groups: [{ url: 'https://a.example/refuse?key=x', answer: 'http:422', count: 16 }],
      },
    },
    [/16 deliveries failed for good in 24 h/],
  ],
  ['failures that could not be read', { failed: null }, [/What has failed could not be read/]],
  ['lost deliveries', { gauges: { ...WELL.gauges, unaccounted: 1 } }, [/not accounted for/]],
  ['what could not be read', { gauges: { ...WELL.gauges, waiting: null } }, [/Not everything could be read/]],
])('%s', (_, change, words) => {
  expect(findTroubles({ ...WELL, ...change })).toEqual(words.map((each) => expect.stringMatching(each)));
});

it.each([
  ['one code without its count', [{ error: 'tls:CERT_HAS_EXPIRED', endpoints: 4 }], 'tls:CERT_HAS_EXPIRED'],
  [
    'several with theirs',
    [
      { error: 'http:401', endpoints: 3 },
      { error: 'timeout', endpoints: 1 },
    ],
    'http:401 3, timeout 1',
  ],
])('a host that fails with %s', (_, errors, words) => {
  expect(wordErrors(errors)).toBe(words);
});
