// Structured fields (RFC 8941) as far as signatures of HTTP messages need them: dictionaries of items and inner lists.
// Decimals, and keys that are repeated, are refused, because no signer needs them and readers differ about them.
import { decodeBase64, encodeBase64 } from './base64.ts';

export type BareItem =
  | { readonly type: 'string' | 'token'; readonly value: string }
  | { readonly type: 'integer'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'bytes'; readonly value: Uint8Array };

export type Parameters = ReadonlyMap<string, BareItem>;
export type Item = { readonly value: BareItem; readonly parameters: Parameters };
export type InnerList = { readonly items: readonly Item[]; readonly parameters: Parameters };
export type Dictionary = ReadonlyMap<string, Item | InnerList>;

/** A field that is not a dictionary of items and inner lists. Its message follows the name of the field. */
export class StructuredFieldError extends Error {
  override readonly name = 'StructuredFieldError';
}

const KEY = /[a-z*][a-z0-9_.*-]*/y;
const STRING = /"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y;
const TOKEN = /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/y;
const INTEGER = /-?\d{1,15}(?![\d.])/y;
const BYTES = /:([A-Za-z0-9+/]*={0,2}):/y;
const BOOLEAN = /\?([01])/y;
const SPACES = / */y;
const BLANKS = /[ \t]*/y;

const TRUE: BareItem = { type: 'boolean', value: true };

/** A place in a text. `take` reads what the sticky expression matches there. */
type Reader = {
  take(expression: RegExp): RegExpExecArray | null;
  skip(text: string): boolean;
  isAtEnd(): boolean;
  fail(expected: string): StructuredFieldError;
};

/**
 * Parses a dictionary (RFC 8941 §4.2.2). Several fields of one name are joined by commas before.
 * @throws StructuredFieldError
 */
export function parseDictionary(text: string): Dictionary {
  const reader = readerOf(text);
  reader.take(SPACES);
  const members = new Map<string, Item | InnerList>();
  if (reader.isAtEnd()) return members;
  do {
    add(members, readKey(reader), () => (reader.skip('=') ? readMember(reader) : readBare(reader)), reader);
    reader.take(BLANKS);
  } while (reader.skip(',') && reader.take(BLANKS));
  if (!reader.isAtEnd()) throw reader.fail('a comma');
  return members;
}

/** Writes an inner list in its one canonical form (RFC 8941 §4.1.1.1). */
export function serializeInnerList({ items, parameters }: InnerList): string {
  return `(${items.map(serializeItem).join(' ')})${serializeParameters(parameters)}`;
}

/** Writes an item in its one canonical form (RFC 8941 §4.1.3). */
export function serializeItem({ value, parameters }: Item): string {
  return serializeBare(value) + serializeParameters(parameters);
}

export function isInnerList(member: Item | InnerList | undefined): member is InnerList {
  return member !== undefined && 'items' in member;
}

function readMember(reader: Reader): Item | InnerList {
  return reader.skip('(') ? readInnerList(reader) : readItem(reader);
}

function readBare(reader: Reader): Item {
  return { value: TRUE, parameters: readParameters(reader) };
}

function readInnerList(reader: Reader): InnerList {
  const items: Item[] = [];
  reader.take(SPACES);
  while (!reader.skip(')')) {
    if (reader.isAtEnd()) throw reader.fail('the end of an inner list');
    items.push(readItem(reader));
    if (!reader.take(/(?=[ )])/y)) throw reader.fail('a space or the end of an inner list');
    reader.take(SPACES);
  }
  return { items, parameters: readParameters(reader) };
}

function readItem(reader: Reader): Item {
  return { value: readValue(reader), parameters: readParameters(reader) };
}

function readParameters(reader: Reader): Parameters {
  const parameters = new Map<string, BareItem>();
  while (reader.skip(';')) {
    reader.take(SPACES);
    add(parameters, readKey(reader), () => (reader.skip('=') ? readValue(reader) : TRUE), reader);
  }
  return parameters;
}

function readKey(reader: Reader): string {
  const key = reader.take(KEY);
  if (key === null) throw reader.fail('a key');
  return key[0];
}

function add<Value>(map: Map<string, Value>, key: string, read: () => Value, reader: Reader): void {
  if (map.has(key)) throw reader.fail('a key that was not there before');
  map.set(key, read());
}

function readValue(reader: Reader): BareItem {
  const string = reader.take(STRING);
  if (string !== null) return { type: 'string', value: (string[1] ?? '').replace(/\\(.)/g, '$1') };
  const bytes = reader.take(BYTES);
  if (bytes !== null) return { type: 'bytes', value: readBytes(bytes[1] ?? '', reader) };
  const boolean = reader.take(BOOLEAN);
  if (boolean !== null) return { type: 'boolean', value: boolean[1] === '1' };
  const integer = reader.take(INTEGER);
  // -0 is written as 0.
  if (integer !== null) return { type: 'integer', value: Number(integer[0]) + 0 };
  const token = reader.take(TOKEN);
  if (token !== null) return { type: 'token', value: token[0] };
  throw reader.fail('a string, integer, token, boolean or byte sequence');
}

function readBytes(text: string, reader: Reader): Uint8Array {
  const bytes = decodeBase64(text);
  if (bytes === null) throw reader.fail('base64 in its canonical form');
  return bytes;
}

function serializeParameters(parameters: Parameters): string {
  return [...parameters]
    .map(([key, value]) => `;${key}${isTrue(value) ? '' : `=${serializeBare(value)}`}`)
    .join('');
}

function isTrue({ type, value }: BareItem): boolean {
  return type === 'boolean' && value;
}

function serializeBare(item: BareItem): string {
  switch (item.type) {
    case 'string':
      return `"${item.value.replace(/["\\]/g, '\\$&')}"`;
    case 'bytes':
      return `:${encodeBase64(item.value)}:`;
    case 'boolean':
      return item.value ? '?1' : '?0';
    default:
      return String(item.value);
  }
}

function readerOf(text: string): Reader {
  let at = 0;
  return {
    take(expression) {
      expression.lastIndex = at;
      const match = expression.exec(text);
      if (match !== null) at = expression.lastIndex;
      return match;
    },
    skip(expected) {
      if (!text.startsWith(expected, at)) return false;
      at += expected.length;
      return true;
    },
    isAtEnd: () => at === text.length,
    fail: (expected) => new StructuredFieldError(`lacks ${expected} at character ${at + 1}`),
  };
}
