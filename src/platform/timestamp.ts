// Parses the times that publishers send. Date.parse is not enough, because it accepts dates that do not exist, and
// forms outside RFC 3339. Pure.

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Restricts the JSON Schema format `date-time` to years from 1970 on. */
export const TIMESTAMP_PATTERN = '^(19[7-9]|[2-9][0-9]{2})[0-9]-';

const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Parses a date and time with offset, from 1970 to 9999 (RFC 3339 §5.6). Second 60 is a leap second, and counts as the
 * first second of the next minute. Fractions are cut to milliseconds.
 * @returns undefined for another text, or a date or time that does not exist
 */
export function parseTimestamp(text: string): Date | undefined {
  const parts = RFC_3339.exec(text);
  if (parts === null) return undefined;
  const number = (index: number) => Number(parts[index] ?? 0);
  const [year, month, day] = [number(1), number(2) - 1, number(3)];
  const [hour, minute, second] = [number(4), number(5), number(6)];
  const [offsetHour, offsetMinute] = [number(9), number(10)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const local = new Date(0);
  local.setUTCFullYear(year, month, day);
  if (local.getUTCMonth() !== month || local.getUTCDate() !== day) return undefined;
  local.setUTCHours(hour, minute, second, Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3)));
  const offset = (offsetHour * 60 + offsetMinute) * 60_000 * (parts[8] === '-' ? -1 : 1);
  const time = local.getTime() - offset;
  return time < EARLIEST || time > LATEST ? undefined : new Date(time);
}
