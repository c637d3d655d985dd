// Rules that map the claims of an assertion to an agent. A pattern is a text in which `*` stands for a part of one
// segment; regular expressions are not taken from tenants.

/** `claims`: the claims that must all fit, by name or by JSON Pointer (RFC 6901), each with a text or a pattern. */
export type WorkloadRule = {
  readonly agentId: string;
  readonly claims: Readonly<Record<string, string>>;
};

/** Segments end with one of these, so that `*` never reaches into another repository, branch, namespace or path. */
const SEPARATORS = /[/:@]/;

/**
 * Returns what is wrong with a pattern, continuing its name; undefined for a good one. It has at most one `*` in a
 * segment, and at least one segment without, so that no pattern fits everything.
 */
export function findPatternFault(pattern: string): string | undefined {
  const segments = pattern.split(SEPARATORS);
  if (segments.some((segment) => segment.split('*').length > 2)) return 'has two * in one segment';
  if (!segments.some((segment) => segment !== '' && !segment.includes('*')))
    return 'needs a segment without *, between / : or @';
  return undefined;
}

/** Returns the first rule whose claims all fit. */
export function findRule(
  rules: readonly WorkloadRule[],
  claims: Readonly<Record<string, unknown>>,
): WorkloadRule | undefined {
  return rules.find((rule) =>
    Object.entries(rule.claims).every(([name, pattern]) => {
      const value = readClaim(claims, name);
      return typeof value === 'string' && fits(pattern, value);
    }),
  );
}

/** Returns whether the whole text fits the pattern. `*` stands for one character or more of one segment. */
export function fits(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  const [wanted, given] = [splitSegments(pattern), splitSegments(text)];
  return wanted.length === given.length && wanted.every((part, index) => fitsPart(part, given[index] ?? ''));
}

/** Segments and, between them, their separators. */
function splitSegments(text: string): string[] {
  return text.split(/([/:@])/);
}

function fitsPart(pattern: string, text: string): boolean {
  const star = pattern.indexOf('*');
  if (star === -1) return pattern === text;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return text.length >= pattern.length && text.startsWith(before) && text.endsWith(after);
}

/** Reads a claim by its name; a name that begins with `/` is a JSON Pointer. Only own members count. */
export function readClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  const path = name.startsWith('/')
    ? name
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [name];
  return path.reduce<unknown>(
    (value, member) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, member)
        ? (value as Record<string, unknown>)[member]
        : undefined,
    claims,
  );
}
