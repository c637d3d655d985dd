// The key under which the answer of a request is stored, so that its repetition gets the same answer.

import { columnsOf } from './columns.ts';

export type KeyScope = {
  readonly tenantId: string;
  readonly principal: string;
  readonly route: string;
  readonly key: string;
};

/** The key under which a statement stores the answer of its request. `digest`: SHA-256 of the request. */
export type AnswerKey = { readonly scope: KeyScope; readonly digest: Buffer };

/** The columns of keys for a statement; `digest` is hex, `lock` the name of the key's advisory lock. */
export const KEY_COLUMNS = columnsOf<AnswerKey>(
  {},
  {
    principal: ['text', ({ scope }) => scope.principal],
    route: ['text', ({ scope }) => scope.route],
    key: ['text', ({ scope }) => scope.key],
    digest: ['text', ({ digest }) => digest.toString('hex')],
    lock: ['text', ({ scope }) => lockNameOf(scope)],
  },
);

/** The name of the advisory lock of a key, which is unique for the key. */
export function lockNameOf(scope: KeyScope): string {
  return JSON.stringify(['idempotency', ...valuesOf(scope)]);
}

/** @returns the columns of the key, in the order of the primary key of idempotency_keys */
export function valuesOf({
  tenantId,
  principal,
  route,
  key,
}: KeyScope): [tenantId: string, principal: string, route: string, key: string] {
  return [tenantId, principal, route, key];
}
