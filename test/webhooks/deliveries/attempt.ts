// What the tests of the sender share: a sender into loopback, an attempt, and what must hold for every result.

import { expect, vi } from 'vitest';
import { createGuardedAgent, type GuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import { TIMED_OUT } from '../../../src/platform/egress/guarded-exchange.client.ts';
import type { Tracing } from '../../../src/platform/tracing/tracing.ts';
import {
  type Attempt,
  type AttemptResult,
  createDeliverySender,
} from '../../../src/webhooks/deliveries/delivery.client.ts';

export const BODY = new TextEncoder().encode('{"event_id":"e","data":{"text":"grüße\\u0000"}}');

export const SECRETS = { current: 'whsec_current-secret-of-this-subscription' };

/** Milliseconds that no attempt of a test takes. */
const NEVER = 600_000;

/**
 * Makes the deadlines of attempts events of the test.
 * @returns `end`, which ends the attempts that have begun and returns their times in milliseconds; `release` at the end
 */
export function holdDeadlines() {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const end = (): (number | undefined)[] => {
    const held = timers.mock.calls.filter(([, , reason]: unknown[]) => reason === TIMED_OUT);
    for (const [deadline] of held) (deadline as (reason: unknown) => void)(TIMED_OUT);
    return held.map(([, ms]) => ms);
  };
  return { end, release: () => timers.mockRestore() };
}

/** A sender that may reach loopback. */
export function startLocalSender(options: Parameters<typeof createGuardedAgent>[0] = {}, tracing?: Tracing) {
  const agent = createGuardedAgent({ allowedNetworks: ['127.0.0.0/8', '::1/128'], ...options });
  return { agent, sender: createDeliverySender({ agent, tracing }), close: () => closeAgent(agent) };
}

async function closeAgent(agent: GuardedAgent): Promise<void> {
  await agent.close();
}

export function attemptTo(url: string, changes: Partial<Attempt> = {}): Attempt {
  return {
    url,
    body: BODY,
    secrets: SECRETS,
    maxAge: 300,
    deliveryId: '0193a0f0-0000-7000-8000-000000000001',
    eventType: 'auth.login.success',
    timeoutMs: NEVER,
    now: () => Date.now(),
    ...changes,
  };
}

/** Fails unless the result is one that can be stored and shown, whatever the receiver did. */
export function expectBounded(result: AttemptResult): void {
  expect(result.responseExcerpt?.length ?? 0).toBeLessThanOrEqual(1024);
  expect(result.responseExcerpt?.replaceAll(/[\n\t]/g, '') ?? '').not.toMatch(/[\p{Cc}\p{Cs}]/u);
  if (result.retryAfterSeconds !== null) {
    expect(Number.isSafeInteger(result.retryAfterSeconds)).toBe(true);
    expect(result.retryAfterSeconds).toBeLessThanOrEqual(2 ** 31 - 1);
  }
  expect(JSON.parse(JSON.stringify(result.outcome))).toEqual(result.outcome);
}
