// Structured fields (RFC 9651) as far as signatures of HTTP messages need them. Decimals, dates, display strings, keys
// that are repeated and base64 with stray bits are refused: no signer needs them, and readers differ about them.
import {
  type Dictionary,
  type InnerList,
  type Item,
  isInnerList,
  ParseError,
  parseDictionary,
} from 'structured-headers';
import { decodeBase64 } from './base64.ts';

/** A field that is not a dictionary of items and inner lists. Its message follows the name of the field. */
export class StructuredFieldError extends Error {
  override readonly name = 'StructuredFieldError';
}

const STRINGS = /"(?:[^"\\]|\\.)*"/g;
const UNUSED = /[=( ](?:@|%|-?\d+\.)/;
const BYTES = /[=( ]:([^:]*):/g;
const KEYS = /[,;]/g;

/**
 * Parses a dictionary (RFC 9651 §4.2.2). Several fields of one name are joined by commas before.
 * @throws StructuredFieldError
 */
export function readDictionary(text: string): Dictionary {
  const members = dictionaryOf(text);
  const bare = text.replace(STRINGS, '""');
  if (UNUSED.test(bare)) throw new StructuredFieldError('has a decimal, a date or a display string');
  for (const [, bytes = ''] of bare.matchAll(BYTES))
    if (decodeBase64(bytes) === null)
      throw new StructuredFieldError('has base64 that is not in its canonical form');
  // Each comma and each semicolon is before another key.
  const keys = [...members.values()].map(countParameters).reduce((sum, count) => sum + count, members.size);
  if (keys > 0 && keys !== 1 + (bare.match(KEYS)?.length ?? 0))
    throw new StructuredFieldError('has a key twice');
  return members;
}

function dictionaryOf(text: string): Dictionary {
  try {
    return parseDictionary(text);
  } catch (error) {
    if (error instanceof ParseError) throw new StructuredFieldError(`is malformed. ${error.message}`);
    throw error;
  }
}

function countParameters(member: Item | InnerList): number {
  const items = isInnerList(member) ? member[0] : [];
  return items.reduce((sum, [, parameters]) => sum + parameters.size, member[1].size);
}

/** @returns the bytes of a member that is a byte sequence; undefined for any other */
export function bytesOf(member: Item | InnerList | undefined): Uint8Array | undefined {
  return member?.[0] instanceof ArrayBuffer ? new Uint8Array(member[0]) : undefined;
}
