// Words the issues of a schema: what a field must be, and which name was meant for one that is not known.
import leven from 'leven';
import type { z } from 'zod';

/** The most known names in a message. */
const MOST_NAMES = 24;

/** The most issues in one answer, so that an answer is not many times larger than its request. */
export const MOST_TOLD = 100;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'entry' };

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  url: 'must be a URL',
  datetime: 'must be an RFC 3339 date and time',
};

/** The unknown names of an object that are compared with the known ones, which costs more than to refuse them. */
const MOST_GUESSED = 10;

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/**
 * The message of an issue whose schema has none of its own. The message of `unrecognized_keys` has a line for each key.
 * @returns undefined for what the library words best
 */
export const wordIssue: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'unrecognized_keys':
      return wordUnknown(issue.keys, knownNames(issue));
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${KINDS[issue.expected] ?? issue.expected}, and is ${kindOf(issue.input)}`;
    case 'invalid_value':
      return issue.input === undefined
        ? 'is required'
        : `must be ${issue.values.length > 1 ? 'one of: ' : ''}${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return FORMATS[issue.format];
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? 'must not be empty'
        : wordLimit('at least', issue.minimum, issue.origin);
    case 'too_big':
      return wordLimit('at most', issue.maximum, issue.origin);
    default:
      return undefined;
  }
};

/** One line for each of the first names; only the first one lists what is known, so that an answer stays short. */
function wordUnknown(names: readonly string[], known: readonly string[]): string {
  const shown = known.slice(0, MOST_NAMES).join(', ');
  const all = known.length === 0 ? '' : `; known: ${shown}${known.length > MOST_NAMES ? ', …' : ''}`;
  const lines = names.slice(0, MOST_TOLD).map((name, n) => {
    const nearest = n < MOST_GUESSED ? findNearest(name, known) : undefined;
    return `is not a known field${nearest === undefined ? (n === 0 ? all : '') : `; did you mean ${nearest}?`}`;
  });
  return lines.join('\n');
}

/** What other services call our fields. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...['page', 'offset', 'startingafter', 'pagetoken'].map((name) => [name, 'cursor'] as const),
  ...['perpage', 'pagesize', 'count'].map((name) => [name, 'limit'] as const),
  ...['webhook', 'webhookid', 'endpointid'].map((name) => [name, 'subscription_id'] as const),
  ...['callback', 'target', 'endpoint'].map((name) => [name, 'url'] as const),
]);

/** @returns the known name that differs in a few characters, begins like it, or means the same; undefined for none */
export function findNearest(name: string, known: readonly string[]): string | undefined {
  const asked = fold(name);
  if (asked.length < 2 || asked.length > 64) return undefined;
  const far = Math.max(1, Math.floor(asked.length / 3));
  // Two letters in the wrong order are a distance of 2.
  const mostOf = (candidate: string) => (candidate[0] === asked[0] ? Math.max(2, far) : far);
  const near = known
    .map((candidate) => ({ candidate, distance: leven(asked, fold(candidate), { maxDistance: far + 2 }) }))
    .filter(({ candidate, distance }) => distance <= mostOf(fold(candidate)))
    .sort((a, b) => a.distance - b.distance)[0];
  return (
    near?.candidate ??
    known.find((candidate) => beginsLike(fold(candidate), asked.replace(/s$/, ''))) ??
    known.find((candidate) => candidate === ELSEWHERE.get(asked))
  );
}

/** `eventTypes` and `event-types` are `event_types`. */
const fold = (name: string) => name.replace(/[-_\s]/g, '').toLowerCase();

const beginsLike = (candidate: string, asked: string) =>
  asked.length >= 3 && (candidate.startsWith(asked) || candidate.endsWith(asked));

function knownNames({ inst }: RawIssue): readonly string[] {
  const def = inst?._zod.def;
  return def !== undefined && 'shape' in def ? Object.keys(def.shape as object) : [];
}

function wordLimit(bound: string, limit: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  if (unit === undefined) return `must be ${bound} ${limit}`;
  const many = unit === 'entry' ? 'entries' : `${unit}s`;
  return `must have ${bound} ${limit} ${Number(limit) === 1 ? unit : many}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return KINDS[typeof value] ?? typeof value;
}
