// The life of an agent's key: what each state allows, and when a deprecated key ends. The caller passes the time.
import type { KeyRow } from './key.model.ts';

/** Source: Specification, "Key state". */
export const KEY_STATES = ['active', 'deprecated', 'revoked'] as const;

export type KeyState = (typeof KEY_STATES)[number];

/** A registered key. */
export type AgentKey = Omit<KeyRow, 'aliases' | 'deprecatedAt' | 'revokedReason' | 'firstUsedAt'>;

/** The fields that decide whether a key may authenticate. */
export type KeyLife = { readonly state: KeyState; readonly sunsetAt: Date | null };

/** Seconds from a deprecation to its sunset, unless the request says otherwise: 7 days. */
const DEFAULT_SUNSET_SECONDS = 604_800;

/** The least number of seconds from a deprecation to its sunset. */
const MINIMUM_SUNSET_SECONDS = 1;

/** Why a sunset is refused; `field` is the request's member that is wrong. */
export type SunsetProblem = {
  readonly field: 'sunset_at' | 'sunset_after_seconds';
  readonly message: string;
};

/**
 * The state at an instant. A deprecated key is revoked from its sunset on, even if its row does not say so yet:
 * authentication does not depend on the workflow that writes it.
 */
export function stateAt(key: KeyLife, now: Date): KeyState {
  const hasEnded =
    key.state === 'deprecated' && key.sunsetAt !== null && key.sunsetAt.getTime() <= now.getTime();
  return hasEnded ? 'revoked' : key.state;
}

/** Whether the key may authenticate at an instant: active, or deprecated and before its sunset. */
export function mayAuthenticate(key: KeyLife, now: Date): boolean {
  return stateAt(key, now) !== 'revoked';
}

/** Whether a key in this state can be deprecated: an active one, or a deprecated one, whose sunset moves. */
export function mayDeprecate(state: KeyState): boolean {
  return state !== 'revoked';
}

/**
 * The sunset that a deprecation sets.
 * @param request at most one of an instant and a number of seconds from `now`; 7 days without either
 * @returns the instant, at least one second after `now`, or the error of the request
 */
export function resolveSunset(
  request: { readonly sunsetAt?: Date | undefined; readonly sunsetAfterSeconds?: number | undefined },
  now: Date,
): { readonly sunsetAt: Date } | { readonly problem: SunsetProblem } {
  const { sunsetAt, sunsetAfterSeconds } = request;
  if (sunsetAt !== undefined && sunsetAfterSeconds !== undefined) {
    return refuse('sunset_at', 'cannot be given together with sunset_after_seconds');
  }
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
 * The response headers that warn of a deprecated key: `Warning` (RFC 7234 §5.5, code 299), `Sunset` (RFC 8594) and,
 * where the time of the deprecation is known, `Deprecation` (RFC 9745). Empty for a key that is not deprecated.
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
