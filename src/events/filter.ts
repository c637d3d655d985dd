// Event types, and the filters with which subscriptions select them. Pure.

export const MAX_EVENT_TYPE_LENGTH = 128;

/** The filter for all event types. A subscription may also write `**`. */
const ALL_EVENTS = '*';

/** An event type; the length is not checked. */
export const EVENT_TYPE = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){1,4}$/;
const PREFIX_PATTERN = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){0,3}\.\*$/;

/** A regular expression of a filter; the length is not checked. */
export const FILTER_PATTERN = `^\\*{1,2}$|${PREFIX_PATTERN.source}|${EVENT_TYPE.source}`;

/** @returns whether it is an event type: 2–5 segments of `[a-z][a-z0-9_]*` joined by dots, at most 128 characters */
export function isEventType(text: string): boolean {
  return text.length <= MAX_EVENT_TYPE_LENGTH && EVENT_TYPE.test(text);
}

/** @returns whether it is a pattern: `*` or `**` (every type), or a prefix such as `auth.*` (at any depth) */
export function isPattern(text: string): boolean {
  if (text === ALL_EVENTS || text === '**') return true;
  return text.length <= MAX_EVENT_TYPE_LENGTH && PREFIX_PATTERN.test(text);
}

export function isFilter(text: string): boolean {
  return isEventType(text) || isPattern(text);
}

/** Normalises a filter for storage: `**` becomes `*`. */
export function normalizeFilter(filter: string): string {
  return filter === '**' ? ALL_EVENTS : filter;
}

/**
 * Lists all normalised filters that match an event type, the narrowest first: for `a.b.c` these are `a.b.c`, `a.b.*`,
 * `a.*` and `*`. An index lookup of these finds all matching subscriptions.
 */
export function filterCandidates(type: string): string[] {
  const candidates = [type];
  for (let dot = type.lastIndexOf('.'); dot > 0; dot = type.lastIndexOf('.', dot - 1)) {
    candidates.push(`${type.slice(0, dot)}.*`);
  }
  candidates.push(ALL_EVENTS);
  return candidates;
}

/** Lists each filter that matches one of these event types, once. */
export function candidatesOf(types: readonly string[]): string[] {
  return [...new Set(types.flatMap(filterCandidates))];
}

export function matches(filters: readonly string[], type: string): boolean {
  return filters.some((filter) => {
    if (filter === ALL_EVENTS || filter === '**') return true;
    return filter.endsWith('.*') ? type.startsWith(filter.slice(0, -1)) : filter === type;
  });
}
