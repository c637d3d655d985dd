// Parses JSON, and refuses texts that JSON.parse accepts but that would lose data later. It changes no value.
import { runSteps } from '../steps.ts';

/** Deeper nesting is refused: no request needs it, and recursive code could overflow the stack. */
const DEEPEST = 64;

/**
 * The most members and elements: in all, and in one value (the text's, or an element of the array that the text is),
 * which is parsed without a pause. Names cost the parser most.
 */
const MOST_VALUES = { all: 25_000, one: 10_000 };

/** Characters of an array that are parsed without a pause. */
const PART = 32_768;

const NUMBER_CHARACTERS = '0123456789.eE+-';
const ZERO = 0x30;

/** Digits that a double always preserves, and the most digits that identify a double. */
const SAFE_DIGITS = 15;
const DOUBLE_DIGITS = 17;

/** No shorter number without an exponent is out of the range of doubles. */
const RANGE_DIGITS = 309;

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
 * number that would lose digits. Refuses also U+0000 (Postgres cannot store it), a member `__proto__`, nesting deeper
 * than 64, more than 25,000 members and elements in all, and more than 10,000 in one value.
 * @throws JsonError
 */
export function parseStrictJson(text: string): unknown {
  return runSteps(parseInSteps(text));
}

/**
 * The same in steps of a few milliseconds, between which others can have a turn.
 * @param part characters of an array in one step
 * @throws JsonError
 */
export function* parseInSteps(text: string, part = PART): Generator<void, unknown, void> {
  const { members, containers, elements } = scanText(text);
  yield;
  const left = { containers };
  let kept = 0;
  let value: unknown;
  if (text.length > part && elements !== undefined) {
    left.containers -= 1;
    const all: unknown[] = [];
    for (const { from, to, count } of joinElements(elements, part)) {
      const some = parse(text, { from, to, count });
      for (const one of some) kept += countKept(one, left);
      all.push(...some);
      yield;
    }
    checkEnds(text, elements);
    value = all;
  } else {
    value = parseWhole(text);
    yield;
    kept = countKept(value, left);
  }
  // Each member has exactly one colon outside strings, so fewer members in the result mean that a name was repeated.
  if (kept !== members) throw new JsonError('', 'has a repeated member name');
  if (!text.includes('\\u') && !text.includes('__proto__')) return value;
  yield;
  inspect(value, '');
  return value;
}

type Part = { readonly from: number; readonly to: number; readonly count: number };

/** Elements of an array that are parsed together, with the commas between them: their place, and their number. */
function* joinElements({ open, commas, end }: Elements, longest: number): Generator<Part, void, void> {
  let from = open + 1;
  let count = 0;
  for (const to of [...commas, end]) {
    count += 1;
    if (to - from < longest && to !== end) continue;
    yield { from, to, count };
    from = to + 1;
    count = 0;
  }
}

function parse(text: string, { from, to, count }: Part): unknown[] {
  // An array without an end gets none here, so that the parser says it.
  const end = to === text.length ? '' : ']';
  const some = tryParse(`[${text.slice(from, to)}${end}`, text, from - 1) as unknown[];
  // Nothing is no element.
  if (some.length !== count) throw invalid(text, to);
  return some;
}

function parseWhole(text: string): unknown {
  return tryParse(text, text, 0);
}

/** @param begin where the part begins in the whole text */
function tryParse(part: string, whole: string, begin: number): unknown {
  try {
    return JSON.parse(part);
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    if (message.includes('Unexpected end')) throw new JsonError('', `${INVALID}: it ends too early`);
    const position = /at position (\d+)/.exec(message)?.[1];
    throw position === undefined ? new JsonError('', INVALID) : invalid(whole, begin + Number(position));
  }
}

/** What stands around the elements of an array (RFC 8259 §2). */
function checkEnds(text: string, { open, end }: Elements): void {
  if (/[^ \t\n\r]/.test(text.slice(0, open))) throw invalid(text, 0);
  if (text.charCodeAt(end) !== 0x5d) throw invalid(text, end);
  if (/[^ \t\n\r]/.test(text.slice(end + 1))) throw invalid(text, end + 1);
}

const INVALID = 'is not valid JSON';

/** Says the place of the fault; never a part of the text itself. */
function invalid(text: string, position: number): JsonError {
  const before = text.slice(0, position).split('\n');
  return new JsonError('', `${INVALID} at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`);
}

/** The places of the outermost array's brackets, and of the commas between its elements. */
type Elements = { readonly open: number; readonly commas: readonly number[]; readonly end: number };

/**
 * What stands outside of strings.
 * @returns the numbers of members, and of objects and arrays; `elements` of a text whose first container is an array
 */
function scanText(text: string): { members: number; containers: number; elements: Elements | undefined } {
  let [depth, members, containers, values, before] = [0, 0, 0, 0, 0];
  let open = -1;
  let end = text.length;
  const commas: number[] = [];
  const addValue = (): void => {
    values += 1;
    if (values > MOST_VALUES.all) throw tooMany(MOST_VALUES.all, '');
    // The comma before an element, or the bracket before the first one, stands for the element.
    if (values - before > MOST_VALUES.one + (open < 0 ? 0 : 1))
      throw tooMany(MOST_VALUES.one, ' in one value');
  };
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case 0x22:
        index = endOfString(text, index);
        break;
      case 0x3a:
        members += 1;
        break;
      case 0x2c:
        // In an array, a comma is followed by another value.
        if (depth === 1 && open >= 0) {
          before = values;
          commas.push(index);
        }
        addValue();
        break;
      case 0x5b:
      case 0x7b:
        if (containers === 0 && text.charCodeAt(index) === 0x5b) open = index;
        containers += 1;
        depth += 1;
        if (depth > DEEPEST) throw new JsonError('', `is nested deeper than ${DEEPEST}`);
        // Each value follows a comma or is the first of its array or object.
        addValue();
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        if (depth === 0) end = Math.min(end, index);
        break;
      default:
        if (isDigit(text.charCodeAt(index))) index = endOfNumber(text, index);
    }
  }
  return { members, containers, elements: commas.length === 0 ? undefined : { open, commas, end } };
}

function tooMany(most: number, where: string): JsonError {
  return new JsonError('', `has more than ${most} members and elements${where}`);
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
  if (isOutOfRange(token)) throw new JsonError('', 'has a number that is out of range');
  // A short number can lose digits by a negative exponent alone.
  if ((token.length > SAFE_DIGITS || token.includes('-')) && losesDigits(token))
    throw new JsonError(
      '',
      `has a number that cannot be kept exactly (${token.slice(0, 40)}): send it as a string`,
    );
  return end - 1;
}

function isOutOfRange(token: string): boolean {
  return (token.length >= RANGE_DIGITS || /e/i.test(token)) && Number(token) === Number.POSITIVE_INFINITY;
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

/** @param left the objects and arrays that were not found yet; where there are none, no value is looked at */
function countKept(value: unknown, left: { containers: number }): number {
  if (typeof value !== 'object' || value === null) return 0;
  left.containers -= 1;
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  let count = names?.length ?? 0;
  if (left.containers === 0) return count;
  for (const part of names === undefined ? (value as unknown[]) : Object.values(value))
    count += countKept(part, left);
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
