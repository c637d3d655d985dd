// The key under which the answer of a request is stored, so that its repetition gets the same answer.

export type KeyScope = {
  readonly tenantId: string;
  readonly principal: string;
  readonly route: string;
  readonly key: string;
};

/** The key under which a statement stores the answer of its request. `digest`: SHA-256 of the request. */
export type AnswerKey = { readonly scope: KeyScope; readonly digest: Buffer };

/** @returns an array for each of principal, route, key, digest (hex) and the name of the key's advisory lock */
export function keyColumns(keys: readonly AnswerKey[]): string[][] {
  return [
    keys.map(({ scope }) => scope.principal),
    keys.map(({ scope }) => scope.route),
    keys.map(({ scope }) => scope.key),
    keys.map(({ digest }) => digest.toString('hex')),
    keys.map(({ scope }) => lockNameOf(scope)),
  ];
}

/** The name of the advisory lock of a key, which is unique for the key. */
export function lockNameOf(scope: KeyScope): string {
  return JSON.stringify(['idempotency', ...valuesOf(scope)]);
}

/** @returns the columns of the key, in the order of the primary key of idempotency_keys */
export function valuesOf({ tenantId, principal, route, key }: KeyScope): string[] {
  return [tenantId, principal, route, key];
}
