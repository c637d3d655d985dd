// Parses the Retry-After header of a receiver's answer, strictly in the forms of RFC 9110. Pure.

/** The longest wait that is returned, in milliseconds: the largest 32-bit integer as seconds. */
export const MAX_REPORTED_MS = 2_147_483_647_000;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';
const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';

// RFC 9110 §5.6.7, in its order: IMF-fixdate, the form of RFC 850, the form of asctime.
const HTTP_DATES = [
  new RegExp(`^${SHORT_DAY}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^${SHORT_DAY} ${MONTH} (?<day>\\d{2}| \\d) ${TIME} (?<year>\\d{4})$`),
];

/**
 * Parses a `Retry-After` value. RFC 9110 §10.2.3: seconds in digits, or an HTTP date in any of its three forms; spaces
 * and tabs around it are allowed.
 * @param value the header's value; undefined without the header
 * @param now the current time in Unix milliseconds
 * @returns the wait in milliseconds, from 0 (a date in the past) to {@link MAX_REPORTED_MS}; undefined for other text
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value === undefined ? undefined : trimBlanks(value);
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, MAX_REPORTED_MS);
  const date = parseHttpDate(text, now);
  return date === undefined ? undefined : Math.min(Math.max(date - now, 0), MAX_REPORTED_MS);
}

/**
 * Parses an HTTP date, case-sensitively and without repair. The day of the week must be valid, but need not fit the
 * date. RFC 9110 §5.6.7.
 * @param now the current time in Unix milliseconds; a two-digit year more than 50 years ahead of it is in the past
 * @returns Unix milliseconds; undefined for other text, and for a day or time that does not exist
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  for (const form of HTTP_DATES) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const month = MONTHS.indexOf(parts.month ?? '');
    const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number);
    const year = parts.year?.length === 2 ? fullYear(Number(parts.year), now) : Number(parts.year);
    return utc(year, month, day ?? 0, hour ?? 0, minute ?? 0, second ?? 0);
  }
  return undefined;
}

/** Removes spaces and tabs around a text, in linear time, because a receiver chooses the text. */
function trimBlanks(text: string): string {
  const isBlank = (index: number) => text[index] === ' ' || text[index] === '\t';
  let first = 0;
  let end = text.length;
  while (isBlank(first)) first += 1;
  while (end > first && isBlank(end - 1)) end -= 1;
  return text.slice(first, end);
}

function fullYear(twoDigits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

// A second of 60 is a leap second, which the grammar allows. It becomes the first second of the next minute.
function utc(year: number, month: number, day: number, hour: number, minute: number, second: number) {
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  if (date.getUTCMonth() !== month || date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(hour, minute, second);
}
