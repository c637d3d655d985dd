// Changes of inputs: bytes, pieces, words of the formats, and texts that the parser compared. By a seed, so repeatable.

/** Random numbers that a seed determines (mulberry32). @returns a whole number below `bound` */
export function createDice(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, bound);
  };
}

const WORDS = [
  ...[
    '\0',
    '\n',
    '\r\n',
    '\t',
    ' ',
    '"',
    '\\',
    "'",
    '%00',
    '%',
    '%ff',
    '%2e',
    '+',
    '&',
    '=',
    ';',
    ',',
    '.',
    '..',
    '/',
    '//',
  ],
  ...[
    ':',
    '::',
    '@',
    '#',
    '?',
    '*',
    '**',
    '-',
    '_',
    '~',
    '[',
    ']',
    '{',
    '}',
    '()',
    '0',
    '00',
    '-0',
    '1e999',
    '0x7f',
    '010',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'null',
    'true',
    '[]',
    '{}',
    '\\u0000',
    '\\ud800',
    '\u00e4',
    '\u{1f600}',
    '\ufeff',
  ],
  ...[
    '9007199254740993',
    '4294967296',
    '-1',
    '127.0.0.1',
    '::ffff:127.0.0.1',
    'localhost',
    '\u3002',
    '\u00ad',
    '\uff0f',
  ],
].map((word) => Buffer.from(word));

const LONGEST = 4_096;

/**
 * Changes an input one to six times.
 * @param others the corpus, for pieces of other inputs
 * @param compared pairs of texts of which the parser saw the first and expected the second
 */
export function mutate(
  input: Uint8Array,
  dice: (bound: number) => number,
  others: readonly Uint8Array[],
  compared: readonly (readonly [seen: string, expected: string])[],
): Uint8Array {
  let bytes = Buffer.from(input);
  for (let left = 1 + dice(6); left > 0; left -= 1) bytes = change(bytes, dice, others, compared);
  return bytes.subarray(0, LONGEST);
}

function change(
  bytes: Buffer<ArrayBuffer>,
  dice: (bound: number) => number,
  others: readonly Uint8Array[],
  compared: readonly (readonly [string, string])[],
): Buffer<ArrayBuffer> {
  const at = dice(bytes.length + 1);
  const length = 1 + dice(Math.min(16, bytes.length - at));
  const replace = (from: number, to: number, piece: Uint8Array) =>
    Buffer.concat([bytes.subarray(0, from), piece, bytes.subarray(to)]);
  switch (dice(9)) {
    case 0:
      return replace(at, at + 1, Buffer.of(dice(256)));
    case 1:
      return replace(at, at + 1, Buffer.of((bytes[at] ?? 0) ^ (1 << dice(8))));
    case 2:
      return replace(at, at, Buffer.of(0x20 + dice(0x5f)));
    case 3:
      return replace(at, at + length, Buffer.alloc(0));
    case 4:
      return replace(at, at, bytes.subarray(at, at + length));
    case 5: {
      const word = WORDS[dice(WORDS.length)] ?? Buffer.alloc(0);
      return replace(at, at + (dice(2) === 0 ? 0 : word.length), word);
    }
    case 6: {
      const other = Buffer.from(others[dice(others.length)] ?? []);
      const from = dice(other.length);
      return replace(at, dice(2) === 0 ? at : bytes.length, other.subarray(from, from + 1 + dice(64)));
    }
    case 7: {
      const digits = bytes.subarray(at).findIndex((byte) => byte >= 0x30 && byte <= 0x39);
      return digits < 0 ? bytes : replace(at + digits, at + digits + 1, Buffer.of(0x30 + dice(10)));
    }
    default: {
      const [seen, expected] = compared[dice(compared.length)] ?? ['', ''];
      const place = seen === '' ? at : bytes.indexOf(seen);
      return place < 0
        ? replace(at, at, Buffer.from(expected))
        : replace(place, place + seen.length, Buffer.from(expected));
    }
  }
}
