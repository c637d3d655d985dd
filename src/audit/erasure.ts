// The certificate of an erased tenant: the text that is signed.

/** `removed`: rows by table, and workflows. Times are those of the database. */
export type Erasure = {
  readonly tenantId: string;
  readonly slug: string;
  readonly askedAt: Date;
  readonly erasedAt: Date;
  readonly removed: Readonly<Record<string, number>>;
};

/** Builds the text. Its first line is that of no checkpoint, which the same keys sign. */
export function erasureStatement({ tenantId, slug, askedAt, erasedAt, removed }: Erasure): string {
  const counts = Object.entries(removed).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    firstLineOf(tenantId),
    `tenant ${slug}`,
    `ended ${askedAt.toISOString()}`,
    `erased ${erasedAt.toISOString()}`,
    ...counts.map(([what, count]) => `removed ${what} ${count}`),
    '',
  ].join('\n');
}

/** Returns whether a text is of the erasure of this tenant. */
export const isErasureOf = (statement: string, tenantId: string): boolean =>
  statement.startsWith(`${firstLineOf(tenantId)}\n`);

const firstLineOf = (tenantId: string) => `countersign/erasure/${tenantId}`;
