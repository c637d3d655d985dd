// Holds the parser of Retry-After: exactly the forms of RFC 9110 §10.2.3, and no harm from anything else.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_REPORTED_MS,
  parseHttpDate,
  parseRetryAfter,
} from '../../../src/webhooks/deliveries/retry-after.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

describe('parseRetryAfter', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    ['007', 7000],
    [' \t120\t ', 120_000],
    ['999999999999999999999999999999', MAX_REPORTED_MS],
    ['9'.repeat(400), MAX_REPORTED_MS],
    ['Sat, 21 Nov 2026 12:02:00 GMT', 120_000],
    ['Saturday, 21-Nov-26 12:02:00 GMT', 120_000],
    ['Sat Nov 21 12:02:00 2026', 120_000],
    ['Tue Dec  1 12:00:00 2026', 10 * 86_400_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', MAX_REPORTED_MS],
  ])('reads %j as %i ms', (value, expected) => {
    expect(parseRetryAfter(value, NOW)).toBe(expected);
  });

  it.each([
    ...[
      '',
      ' ',
      '-1',
      '+1',
      '1.5',
      '1e3',
      '0x10',
      'inf',
      'Infinity',
      'NaN',
      'null',
      '1_000',
      '1,000',
      '10s',
      '1 2',
    ],
    ...['１２０', '120\n', '\u00a0120', '2026-11-21T12:02:00Z', 'tomorrow', '120, 120', '120;'],
    'Sat, 21 Nov 2026 12:02:00',
    'Sat, 21 Nov 2026 12:02:00 UTC',
    'Sat, 21 Nov 2026 12:02:00 +0000',
    'sat, 21 nov 2026 12:02:00 gmt',
    'Sat,21 Nov 2026 12:02:00 GMT',
    'Sat, 1 Nov 2026 12:02:00 GMT',
    'Sat, 21 Nov 26 12:02:00 GMT',
    'Sat, 31 Nov 2026 12:02:00 GMT',
    'Sat, 00 Nov 2026 12:02:00 GMT',
    'Sat, 21 Nov 2026 24:00:00 GMT',
    'Sat, 21 Nov 2026 12:60:00 GMT',
    'Sat, 21 Nov 2026 12:02:61 GMT',
    'Sat, 29 Feb 2027 12:00:00 GMT',
    'Xyz, 21 Nov 2026 12:02:00 GMT',
    'Sat, 21-Nov-26 12:02:00 GMT',
    'Saturday, 21-Nov-2026 12:02:00 GMT',
    'Sat Nov 1 12:02:00 2026',
    'Sat Nov 21 12:02:00 2026 GMT',
    'x'.repeat(100_000),
  ])('ignores %j', (value) => {
    expect(parseRetryAfter(value, NOW)).toBeUndefined();
  });

  it('ignores an absent header', () => {
    expect(parseRetryAfter(undefined, NOW)).toBeUndefined();
  });

  it('gives a whole number within bounds or nothing, for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[ \t]*[0-9a-fx.+-]*[ \t]*$/),
      fc.constantFrom('1', '0'),
    );
    fc.assert(
      fc.property(text, fc.date({ min: new Date(0), noInvalidDate: true }), (value, now) => {
        const delay = parseRetryAfter(value, now.getTime());
        if (delay === undefined) return;
        expect(value.replace(/^[ \t]+|[ \t]+$/g, '')).toMatch(/^\d+$/);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(MAX_REPORTED_MS);
      }),
      { numRuns: 1000 },
    );
  });

  it('reads every second in all three forms', () => {
    const second = fc.integer({ min: 0, max: 68 * 365 * 86_400 });
    fc.assert(
      fc.property(second, (seconds) => {
        const date = new Date(seconds * 1000);
        const [day, dd, mmm, yyyy, time] = date.toUTCString().replace(',', '').split(' ');
        const long = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(date);
        const padded = String(date.getUTCDate()).padStart(2, ' ');
        expect(parseHttpDate(date.toUTCString(), NOW)).toBe(date.getTime());
        expect(parseHttpDate(`${long}, ${dd}-${mmm}-${yyyy?.slice(2)} ${time} GMT`, date.getTime())).toBe(
          date.getTime(),
        );
        expect(parseHttpDate(`${day} ${mmm} ${padded} ${time} ${yyyy}`, NOW)).toBe(date.getTime());
      }),
    );
  });

  it('takes a two-digit year more than 50 years ahead for one in the past', () => {
    expect(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
    expect(parseHttpDate('Sunday, 06-Nov-76 08:49:37 GMT', NOW)).toBe(Date.UTC(2076, 10, 6, 8, 49, 37));
    expect(parseHttpDate('Sunday, 06-Nov-77 08:49:37 GMT', NOW)).toBe(Date.UTC(1977, 10, 6, 8, 49, 37));
  });

  it('takes no longer than the text for blanks in the middle', () => {
    // In quadratic time it is ten minutes, and the case does not end in time.
    const blanks = ' \t'.repeat(500_000);
    expect(parseRetryAfter(`1${blanks}2`, NOW)).toBeUndefined();
    expect(parseRetryAfter(`${blanks}2${blanks}`, NOW)).toBe(2_000);
  });

  it('takes a leap second for the next minute', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW)).toBe(Date.UTC(2017, 0, 1));
  });
});
