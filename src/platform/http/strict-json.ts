// Parses JSON, and refuses texts that JSON.parse accepts but that would lose data later. It changes no value.

/** Deeper nesting is refused: no request needs it, and recursive code could overflow the stack. */
const DEEPEST = 64;

/** More members and elements in all are refused: names cost the parser most, and it holds up all tenants meanwhile. */
const MOST_VALUES = 25_000;

const NUMBER_CHARACTERS = '0123456789.eE+-';
const ZERO = 0x30;

/** Digits that a double always preserves, and the most digits that identify a double. */
const SAFE_DIGITS = 15;
const DOUBLE_DIGITS = 17;

/** Doubles below this one have fewer digits, down to 0. */
const SMALLEST_NORMAL = 2 ** -1022;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** A refused text. `path`: the place in dotted form (empty for the whole text). `message`: the reason. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Parses one JSON text (RFC 8259) by the rules of I-JSON (RFC 7493): no repeated member names, no lone surrogates, no
 * number that would lose digits. Refuses also U+0000 (Postgres cannot store it), a member `__proto__`, and nesting
 * deeper than 64, and more than 25,000 members and elements in all.
 * @throws JsonError
 */
export function parseStrictJson(text: string): unknown {
  const members = countMembers(text);
  const value = parse(text);
  // Each member has exactly one colon outside strings, so fewer members in the result mean that a name was repeated.
  if (countKept(value) !== members) throw new JsonError('', 'has a repeated member name');
  if (text.includes('\\u') || text.includes('__proto__')) inspect(value, '');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new JsonError('', `is not valid JSON${placeOf(error, text)}`);
  }
}

/** The place of the fault, where the parser's message has it; never a part of the text itself. */
function placeOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : '';
  if (message.includes('Unexpected end')) return ': it ends too early';
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function countMembers(text: string): number {
  let depth = 0;
  let members = 0;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case 0x22:
        index = endOfString(text, index);
        break;
      case 0x3a:
        members += 1;
        break;
      case 0x2c:
        values += 1;
        if (values > MOST_VALUES) throw tooMany();
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > DEEPEST) throw new JsonError('', `is nested deeper than ${DEEPEST}`);
        // Each value follows a comma or is the first of its array or object.
        values += 1;
        if (values > MOST_VALUES) throw tooMany();
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      default:
        if (isDigit(text.charCodeAt(index))) index = endOfNumber(text, index);
    }
  }
  return members;
}

function tooMany(): JsonError {
  return new JsonError('', `has more than ${MOST_VALUES} members and elements`);
}

/** @returns the index of the quotation mark that ends the string which begins at `start`, or the length of the text */
function endOfString(text: string, start: number): number {
  let index = start;
  for (;;) {
    index = text.indexOf('"', index + 1);
    if (index === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(index - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return index;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/**
 * @returns the index of the last character of the number whose first digit is at `start`. A number that JavaScript
 *   would write differently is refused, so that ids and amounts do not change
 */
function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (NUMBER_CHARACTERS.includes(text.charAt(end)) && end < text.length) end += 1;
  const token = text.slice(start, end);
  // A short number can lose digits by a negative exponent alone.
  if ((token.length > SAFE_DIGITS || token.includes('-')) && losesDigits(token))
    throw new JsonError(
      '',
      `has a number that cannot be kept exactly (${token.slice(0, 40)}): send it as a string`,
    );
  return end - 1;
}

/**
 * True for a whole number whose double differs, for a fraction with more digits than identify a double, and for one so
 * small that its double has fewer digits or is 0.
 */
function losesDigits(token: string): boolean {
  const value = Number(token);
  const sent = significant(token);
  if (!Number.isFinite(value) || sent === significant(String(value))) return false;
  return /^\d+$/.test(token) || sent.length > DOUBLE_DIGITS || value < SMALLEST_NORMAL;
}

/**
 * The digits without leading and trailing zeros, in linear time. A regular expression for trailing zeros would need
 * more.
 */
function significant(number: string): string {
  const exponent = number.search(/e/i);
  const digits = (exponent === -1 ? number : number.slice(0, exponent)).replace('.', '');
  let first = 0;
  let end = digits.length;
  while (digits.charCodeAt(first) === ZERO) first += 1;
  while (end > first && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  return digits.slice(first, end);
}

function countKept(value: unknown): number {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new JsonError('', 'has a number that is out of range');
  if (typeof value !== 'object' || value === null) return 0;
  const parts = Object.values(value);
  let count = Array.isArray(value) ? 0 : parts.length;
  for (const part of parts) count += countKept(part);
  return count;
}

function inspect(value: unknown, path: string): void {
  if (typeof value === 'string') inspectText(value, path);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    const inner = path === '' ? name : `${path}.${name}`;
    if (name === '__proto__') throw new JsonError(inner, 'is not an acceptable name');
    if (!Array.isArray(value)) inspectText(name, path);
    inspect(part, inner);
  }
}

function inspectText(text: string, path: string): void {
  if (text.includes('\0')) throw new JsonError(path, 'must not contain U+0000');
  if (LONE_SURROGATE.test(text)) throw new JsonError(path, 'must not contain a lone surrogate');
}
