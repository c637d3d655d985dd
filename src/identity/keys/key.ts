// Types of keys, and the rules of their states and sunsets. The caller passes the time.
import type { KeyRow } from './key.model.ts';

/** Source: Specification, "Key state". */
export const KEY_STATES = ['active', 'deprecated', 'revoked'] as const;

export type KeyState = (typeof KEY_STATES)[number];

export type AgentKey = Omit<KeyRow, 'aliases' | 'deprecatedAt' | 'revokedReason' | 'firstUsedAt'>;

export type KeyLife = { readonly state: KeyState; readonly sunsetAt: Date | null };

/** Default seconds from a deprecation to its sunset: 7 days. */
const DEFAULT_SUNSET_SECONDS = 604_800;

const MINIMUM_SUNSET_SECONDS = 1;

/** The reason to refuse a sunset. `field` is the wrong member of the request. */
export type SunsetProblem = {
  readonly field: 'sunset_at' | 'sunset_after_seconds';
  readonly message: string;
};

/** Returns the key's state at a time. A deprecated key counts as revoked from its sunset on. */
export function stateAt(key: KeyLife, now: Date): KeyState {
  const hasEnded =
    key.state === 'deprecated' && key.sunsetAt !== null && key.sunsetAt.getTime() <= now.getTime();
  return hasEnded ? 'revoked' : key.state;
}

/** Returns whether the key may authenticate at a time: it is active, or deprecated and before its sunset. */
export function mayAuthenticate(key: KeyLife, now: Date): boolean {
  return stateAt(key, now) !== 'revoked';
}

/** Returns whether a key in this state can be deprecated. For a deprecated key, only the sunset changes. */
export function mayDeprecate(state: KeyState): boolean {
  return state !== 'revoked';
}

/** Returns whether a sunset lets the key live longer than its present one does. */
export function prolongs({ sunsetAt: present }: Pick<KeyLife, 'sunsetAt'>, sunsetAt: Date): boolean {
  return present !== null && sunsetAt.getTime() > present.getTime();
}

/**
 * Computes the sunset of a deprecation.
 * @param request at most one of a time and a number of seconds from `now`; 7 days without them
 * @returns the sunset, at least one second after `now`, or the problem with the request
 */
export function resolveSunset(
  request: { readonly sunsetAt?: Date | undefined; readonly sunsetAfterSeconds?: number | undefined },
  now: Date,
): { readonly sunsetAt: Date } | { readonly problem: SunsetProblem } {
  const { sunsetAt, sunsetAfterSeconds } = request;
  if (sunsetAt !== undefined && sunsetAfterSeconds !== undefined)
    return refuse('sunset_at', 'cannot be given together with sunset_after_seconds');
  if (sunsetAt !== undefined) {
    const seconds = (sunsetAt.getTime() - now.getTime()) / 1000;
    if (!(seconds >= MINIMUM_SUNSET_SECONDS))
      return refuse('sunset_at', 'must be at least one second from now');
    return { sunsetAt };
  }
  const seconds = sunsetAfterSeconds ?? DEFAULT_SUNSET_SECONDS;
  if (!(seconds >= MINIMUM_SUNSET_SECONDS)) return refuse('sunset_after_seconds', 'must be at least 1');
  const result = new Date(now.getTime() + seconds * 1000);
  if (Number.isNaN(result.getTime()))
    return refuse('sunset_after_seconds', 'is further away than a date can be');
  return { sunsetAt: result };
}

function refuse(field: SunsetProblem['field'], message: string): { readonly problem: SunsetProblem } {
  return { problem: { field, message } };
}

/**
 * Builds the response headers that warn of a deprecated key: `Warning` (RFC 7234 §5.5, code 299), `Sunset` (RFC 8594),
 * and `Deprecation` (RFC 9745) when the time of the deprecation is known. Returns no headers for any other key.
 */
export function buildSunsetHeaders(
  key: KeyLife & { readonly fingerprint: string; readonly deprecatedAt?: Date | null | undefined },
): Record<string, string> {
  if (key.state !== 'deprecated' || key.sunsetAt === null) return {};
  const { fingerprint, sunsetAt, deprecatedAt } = key;
  const headers: Record<string, string> = {
    warning: `299 - "Key ${fingerprint} is deprecated and stops working at ${sunsetAt.toISOString()}"`,
    sunset: sunsetAt.toUTCString(),
  };
  if (deprecatedAt) headers.deprecation = `@${Math.floor(deprecatedAt.getTime() / 1000)}`;
  return headers;
}

/**
 * SQL of the version of a key `k` and its agent `a`: the transactions that wrote their rows last (`xmin`). Each change
 * of one of them gives another text.
 */
export const HOLDER_VERSION = "concat_ws('.', k.xmin, a.xmin)";
