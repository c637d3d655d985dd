// Event type names, and the filters by which subscriptions select them. Pure.

/** The longest event type in characters. */
export const MAX_EVENT_TYPE_LENGTH = 128;

/** The filter that selects every event type; `**` is written for it too. */
const ALL_EVENTS = '*';

/** An event type of any length. */
export const EVENT_TYPE = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){1,4}$/;
const PREFIX_PATTERN = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){0,3}\.\*$/;

/** Regular expression of a filter of any length. */
export const FILTER_PATTERN = `^\\*{1,2}$|${PREFIX_PATTERN.source}|${EVENT_TYPE.source}`;

/** Whether the text is an event type: 2–5 segments of `[a-z][a-z0-9_]*` joined by dots, at most 128 characters. */
export function isEventType(text: string): boolean {
  return text.length <= MAX_EVENT_TYPE_LENGTH && EVENT_TYPE.test(text);
}

/** Whether the text is a pattern: `*` or `**` (every type), or a prefix such as `auth.*` (any depth below it). */
export function isPattern(text: string): boolean {
  if (text === ALL_EVENTS || text === '**') return true;
  return text.length <= MAX_EVENT_TYPE_LENGTH && PREFIX_PATTERN.test(text);
}

/** Whether the text is a filter: an event type or a pattern. */
export function isFilter(text: string): boolean {
  return isEventType(text) || isPattern(text);
}

/** The one way in which a filter is stored: `**` becomes `*`; anything else is left as it is. */
export function normalizeFilter(filter: string): string {
  return filter === '**' ? ALL_EVENTS : filter;
}

/**
 * Every normalised filter that selects an event type, the narrowest first: for `a.b.c` these are `a.b.c`, `a.b.*`,
 * `a.*` and `*`. A subscription matches when its filters hold one of them, so that an index lookup finds all of them.
 */
export function filterCandidates(type: string): string[] {
  const candidates = [type];
  for (let dot = type.lastIndexOf('.'); dot > 0; dot = type.lastIndexOf('.', dot - 1)) {
    candidates.push(`${type.slice(0, dot)}.*`);
  }
  candidates.push(ALL_EVENTS);
  return candidates;
}

/** Whether one of the filters selects the event type. */
export function matches(filters: readonly string[], type: string): boolean {
  return filters.some((filter) => {
    if (filter === ALL_EVENTS || filter === '**') return true;
    return filter.endsWith('.*') ? type.startsWith(filter.slice(0, -1)) : filter === type;
  });
}
