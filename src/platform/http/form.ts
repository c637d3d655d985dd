// Parses form bodies and query strings (application/x-www-form-urlencoded) strictly: one value for each name.

/** More parameters than any route reads; a longer list would only cost time. */
const MOST_PARAMETERS = 200;

/** A parameter is refused; `parameter` is its name, or empty when the name is unreadable. */
export class FormError extends Error {
  override readonly name = 'FormError';
  readonly parameter: string;

  constructor(parameter: string, message: string) {
    super(message);
    this.parameter = parameter;
  }
}

/** `keepEmpty`: a parameter without a value gets an empty value; by default it counts as absent. */
export type FormOptions = { readonly keepEmpty?: boolean };

/**
 * Parses parameters by name. A parameter without a value counts as absent, a repeated name is refused (RFC 6749 §3.2).
 * Queries of lists use `keepEmpty`, so that the schema refuses an empty filter instead of listing everything.
 * @throws FormError for a repeated name, a malformed escape, text that is not UTF-8, or U+0000
 */
export function parseForm(text: string, { keepEmpty = false }: FormOptions = {}): Record<string, string> {
  const parameters: Record<string, string> = {};
  if (text === '') return parameters;
  if (text.includes('\0')) throw new FormError('', 'must not contain U+0000');
  const pairs = text.split('&');
  if (pairs.length > MOST_PARAMETERS) throw new FormError('', 'there are too many parameters');
  const seen = new Set<string>();
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals), '');
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1), name);
    if (seen.has(name)) throw new FormError(name, 'must not be repeated');
    seen.add(name);
    // An assignment to this name would replace the prototype.
    if ((keepEmpty || value !== '') && name !== '__proto__') parameters[name] = value;
  }
  return parameters;
}

function decode(text: string, name: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  let decoded: string;
  try {
    decoded = decodeURIComponent(spaced);
  } catch {
    throw new FormError(name, 'has a malformed percent escape');
  }
  if (decoded.includes('\0')) throw new FormError(name, 'must not contain U+0000');
  return decoded;
}
