// Tables and fields as a terminal of some width, or a file, gets them.
import { describe, expect, it } from 'vitest';
import { formatFields, formatTable } from '../../src/platform/command-table.ts';
import { readDuration, relativeTime } from '../../src/platform/command-times.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const columns = [
  { heading: 'id', cell: (row: { id: string }) => row.id, whole: true as const },
  { heading: 'name', cell: (row: { name: string | null }) => row.name },
  { heading: 'created', cell: (row: { at: string }) => row.at },
];
const rows = [
  { id: '01a20678-c02f-726b', name: 'a long name that somebody gave', at: '2026-03-01T11:57:00.000Z' },
  { id: '01a20678-c02f-726c', name: null, at: '2026-02-26T12:00:00Z' },
];

describe('a table', () => {
  it('cuts what is not copied into the next command, and tells times from now', () => {
    expect(formatTable(columns, rows, { width: 44, now })).toEqual([
      'ID                  NAME           CREATED',
      '01a20678-c02f-726b  a long name …  3 min ago',
      '01a20678-c02f-726c  -              3 d ago',
    ]);
  });

  it('is whole in a file', () => {
    expect(formatTable(columns, rows, { width: undefined, now })[1]).toBe(
      '01a20678-c02f-726b  a long name that somebody gave  2026-03-01T11:57:00.000Z',
    );
  });

  it('keeps the terminal from the control characters of a name', () => {
    const [, line] = formatTable(columns, [{ id: 'x', name: '\u001b[31mred\u202e', at: '' }], {
      width: 80,
      now,
    });
    expect(line).toContain('\uFFFD[31mred\uFFFD');
  });
});

it('fields of objects and lists of objects are lines and tables', () => {
  const value = {
    id: 'x',
    endpoint: { state: 'open' },
    attempts: [{ number: 1, status_code: 503 }],
    types: ['a.b', 'c.d'],
  };
  expect(formatFields(value, { width: 80, now })).toEqual([
    'id              x',
    'endpoint.state  open',
    '',
    'attempts',
    '  NUMBER  STATUS_CODE',
    '  1       503',
    'types           a.b c.d',
  ]);
});

describe('times', () => {
  it.each([
    [400, 'now'],
    [-45_000, 'in 45 s'],
    [7_200_000, '2 h ago'],
    [86_400_000 * 3, '3 d ago'],
  ])('%d ms are told as %s', (ago, words) => {
    expect(relativeTime(now - ago, now)).toBe(words);
  });

  it.each([
    ['10m', 600],
    ['7d', 604_800],
    ['0s', undefined],
    ['10', undefined],
    ['1w', undefined],
  ])('the duration %s is %s seconds', (text, seconds) => {
    expect(readDuration(text)).toBe(seconds);
  });
});

it('widens only the line of a long text in a pipe', () => {
  const rows = [{ url: 'u'.repeat(300) }, { url: 'short' }];
  const columns = [
    { heading: 'url', cell: ({ url }: { url: string }) => url },
    { heading: 'state', cell: () => 'open' },
  ];
  const [heading, long, short] = formatTable(columns, rows, { width: undefined, now: 0 });
  expect(long).toBe(`${'u'.repeat(300)}  open`);
  expect([heading, short].map((line) => line?.length)).toEqual([67, 66]);
});
