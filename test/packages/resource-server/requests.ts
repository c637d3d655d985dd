// Requests to a guard, without a server.

import type { Rules } from '../../../packages/resource-server/src/checks.ts';
import type { GuardedRequest } from '../../../packages/resource-server/src/credentials.ts';
import type { Guard } from '../../../packages/resource-server/src/guard.ts';

export const TARGET = '/orders?limit=5';

/** A request with these headers; a list is a header that was sent several times. */
export function requestWith(
  headers: Readonly<Record<string, string | readonly string[]>>,
  { method = 'GET', target = TARGET }: { method?: string; target?: string } = {},
): GuardedRequest {
  return { method, target, header: (name) => [headers[name] ?? []].flat() };
}

export const bearer = (token: string) => requestWith({ authorization: `Bearer ${token}` });

/** @returns `accepted`, or status and code of the refusal */
export async function outcomeOf(guard: Guard, request: GuardedRequest, rules?: Rules): Promise<string> {
  const decision = await guard.authorize(request, rules);
  return decision.agent === undefined ? `${decision.answer.status} ${decision.refusal.code}` : 'accepted';
}
