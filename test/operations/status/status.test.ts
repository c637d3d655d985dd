// What of a standing needs a person, and what is shown of the objectives.
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { judgeObjectives } from '../../../src/operations/objectives/objective.service.ts';
import { registerStatusCommand } from '../../../src/operations/status/status.commands.ts';
import { findTroubles, type Standing } from '../../../src/operations/status/status.ts';
import { wordErrors } from '../../../src/webhooks/endpoints/host-hold.ts';
import { judgeStanding } from '../../../src/webhooks/standing/standing.ts';

const standing = (count: number | undefined): Standing['invariants'][number] => ({
  name: 'delivery_overdue',
  says: 'deliveries that are overdue',
  severity: 'page',
  breach: count === undefined ? undefined : { count, oldest: new Date(0), seconds: 9, named: null },
});

const WELL: Standing = {
  version: '1',
  processes: [{ role: 'worker', count: 2, since: new Date(0) }],
  temporal: 'reachable',
  backlog: { rows: 3, oldestDue: 1, oldestCommand: 0 },
  invariants: [standing(0)],
  failingHosts: [],
  endpoints: judgeStanding({ states: [], failed: { deliveries: 0, groups: 0, largest: [] } }),
  objectives: [],
  lastMended: null,
};

it.each<[string, Partial<Standing>, readonly RegExp[]]>([
  ['nothing', {}, []],
  ['no worker', { processes: [] }, [/No worker lives/]],
  ['a database that is away', { processes: null }, [/database does not answer/]],
  ['Temporal', { temporal: 'unreachable' }, [/Temporal does not answer/]],
  [
    'an invariant that is broken',
    { invariants: [standing(4)] },
    [/^delivery_overdue: deliveries that are overdue: 4, the oldest of 1970-/],
  ],
  [
    'what failed for good',
    {
      endpoints: judgeStanding({ states: [], failed: { deliveries: 16, groups: 1, largest: [] } }),
    },
    [/16 deliveries failed for good in 24 h/],
  ],
  ['endpoints that could not be read', { endpoints: null }, [/endpoints could not be read/]],
  ['a backlog that could not be read', { backlog: null }, [/Not everything could be read/]],
  [
    'an invariant that could not be read',
    { invariants: [standing(undefined)] },
    [/Not everything could be read/],
  ],
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

it('shows a line for each objective, and never more than was kept', async () => {
  const objectives = judgeObjectives(
    new Map([
      ['tokens', { good: 52_021, total: 52_031 }],
      ['acceptance', { good: 999_999_999, total: 1_000_000_000 }],
      ['first_attempts', { good: 97, total: 100 }],
    ]),
  );
  const lines: string[] = [];
  const command = new Command('status');
  registerStatusCommand(command, {
    open: async () => ({
      status: { read: async () => ({ ...WELL, objectives }) },
      close: async () => undefined,
    }),
    print: (line) => lines.push(line),
    fail: () => expect.unreachable('what was is no trouble'),
  });
  await command.parseAsync([], { from: 'user' });
  expect(lines.slice(lines.findIndex((line) => line.startsWith('Objectives'))).slice(0, 4)).toEqual([
    'Objectives  tokens: 99.98 % of 52,031 within 1 s (promised: 99.9 %), 80 % of the budget left in 30 days',
    '            acceptance: 99.999 % of 1,000,000,000 within 1 s (promised: 99.9 %), 99 % of the budget left in 30 days',
    '            first attempts: 97 % of 100 within 10 s (promised: 99.9 %), -2900 % of the budget left in 30 days',
    '            revocation: nothing counted in 30 days',
  ]);
});
