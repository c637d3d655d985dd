// Numbers and times in words.

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' });
const EXACT = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'long',
});
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** @returns a time as its distance from now, for example `5 min. ago` */
export function formatRelative(time: string, now: number): string {
  const seconds = Math.round((Date.parse(time) - now) / 1_000);
  if (Math.abs(seconds) < 2) return 'now';
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

/** @returns a time to the second, in the reader's own zone */
export function formatExact(time: string): string {
  return EXACT.format(new Date(time));
}

/** @returns the time of day to the millisecond, and the day when it is not today's */
export function formatClock(time: string): string {
  const date = new Date(time);
  const clock = date.toLocaleTimeString('en-GB');
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock}`;
}

/** @returns milliseconds in the unit that reads best */
export function formatDuration(ms: number): string {
  if (ms < 1) return '<1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** @returns a number with separators */
export function formatNumber(value: number): string {
  return value.toLocaleString('en');
}

/** @returns `1 attempt`, `2 attempts` */
export function count(value: number, noun: string, nouns = `${noun}s`): string {
  return `${formatNumber(value)} ${value === 1 ? noun : nouns}`;
}

/** @returns the end of an id: those that begin with a time differ there */
export function shorten(id: string): string {
  return id.length > 14 ? `…${id.slice(-8)}` : id;
}

/** @returns an error code of a delivery in words */
export function describeError(code: string): string {
  return code.startsWith('http:') ? `HTTP ${code.slice(5)}` : code.replaceAll('_', ' ');
}

type Answered = {
  readonly last_status_code: number | null;
  readonly last_error: string | null;
  readonly attempt_count: number;
};

/** @returns the last answer of the endpoint, or what kept it from coming */
export function describeAnswer({
  last_status_code: code,
  last_error: error,
  attempt_count: n,
}: Answered): string {
  if (code !== null) return `HTTP ${code}`;
  if (error !== null) return describeError(error);
  return n === 0 ? '–' : count(n, 'attempt');
}

type DescribeEndOptions = { readonly status: string; readonly last_status_code: number | null };

/** @returns why a delivery ended without success, and what follows; empty when there is nothing to say */
export function describeEnd({ status, last_status_code: code }: DescribeEndOptions): string {
  if (status === 'canceled') return 'No further attempt is made.';
  if (status !== 'failed') return '';
  if (code === 410) return 'HTTP 410 says that the receiver is gone: the subscription was disabled.';
  if (code !== null && FINAL.has(code))
    return `HTTP ${code} refuses this delivery for good, so it is not tried again by itself.`;
  return 'The last attempt of the schedule has failed.';
}

/** What a receiver answers when a repetition would be refused again. */
const FINAL: ReadonlySet<number> = new Set([400, 413, 415, 422]);
