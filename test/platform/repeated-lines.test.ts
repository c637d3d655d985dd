// Equal warnings of the log: one line a minute with their number, and nothing lost of what differs.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LogFields } from '../../src/platform/logging.ts';
import { countRepeatedLines } from '../../src/platform/repeated-lines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function create() {
  const lines: string[] = [];
  const write = (level: string) => (fields: LogFields, message: string) =>
    void lines.push(
      [level, message, fields.reason, fields.repeated].filter((part) => part !== undefined).join(' '),
    );
  const written = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  return { lines, ...countRepeatedLines(written, { window: 60_000 }) };
}
const failed = (reason: string, more = {}) => ({ event: 'relay.failed', reason, ...more });

describe('equal warnings', () => {
  it('are the first one, and each minute their number', () => {
    const { lines, log } = create();
    for (let second = 0; second < 150; second += 1) {
      log.warn(failed('away'), 'waits');
      vi.advanceTimersByTime(1_000);
    }
    expect(lines).toEqual(['warn waits away', 'warn waits away 59', 'warn waits away 60']);
    vi.advanceTimersByTime(30_000);
    expect(lines.at(-1)).toBe('warn waits away 30');
    vi.advanceTimersByTime(120_000);
    expect(lines).toHaveLength(4);
    log.warn(failed('away'), 'waits');
    expect(lines.at(-1)).toBe('warn waits away');
  });

  it('differ by level, fields and message, and not by what the SDK adds', () => {
    const { lines, log } = create();
    log.warn(failed('one', { temporal: { attempt: 1 } }), 'waits');
    log.warn(failed('one', { temporal: { attempt: 2 } }), 'waits');
    log.warn(failed('two'), 'waits');
    log.warn(failed('one'), 'fails');
    log.error(failed('one'), 'waits');
    log.warn(failed('one', { host: 'a' }), 'waits');
    expect(lines).toEqual([
      'warn waits one',
      'warn waits two',
      'warn fails one',
      'error waits one',
      'warn waits one',
    ]);
  });

  it('are all written where they have no reason, or are no warnings', () => {
    const { lines, log } = create();
    for (let n = 0; n < 2; n += 1) {
      log.warn({ event: 'http.request' }, 'slow');
      log.info(failed('away'), 'told');
      log.debug(failed('away'), 'told');
    }
    expect(lines).toHaveLength(6);
  });

  it('are told at the end of the process, and never of more than 200 kinds', () => {
    const { lines, log, flush } = create();
    for (let n = 0; n < 2; n += 1)
      for (let kind = 0; kind < 201; kind += 1) log.warn(failed(String(kind)), 'waits');
    expect(lines).toHaveLength(202);
    flush();
    expect(lines).toHaveLength(402);
    expect(lines.at(-1)).toBe('warn waits 199 1');
    vi.advanceTimersByTime(120_000);
    expect(lines).toHaveLength(402);
  });
});
