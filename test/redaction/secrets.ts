// Knows every secret of a walk by its kind, and finds them in a text in all forms in which a program may write them.
import { randomBytes } from 'node:crypto';

export type Secrets = ReturnType<typeof createSecrets>;

/** A shorter one is found by chance, or is a word of the language. No form of a secret has fewer characters. */
const SHORTEST = 12;

export function createSecrets() {
  const kinds = new Map<string, Set<string>>();
  const add = <Value extends string>(kind: string, value: Value): Value => {
    if (value.length < SHORTEST) throw new Error(`a ${kind} of ${value.length} characters proves nothing`);
    kinds.set(kind, (kinds.get(kind) ?? new Set()).add(value));
    return value;
  };
  return {
    add,
    /** A new secret that nobody else knows, such as one that a client sends in the wrong place. */
    plant: (kind: string) => add(kind, `planted_${randomBytes(18).toString('hex')}`),
    /** The number of secrets of each kind. */
    count: () => Object.fromEntries([...kinds].map(([kind, values]) => [kind, values.size])),
    /**
     * @param without kinds that the text may have
     * @returns `kind in form` of each secret that a text has
     */
    findIn(text: string, without: readonly string[] = []): string[] {
      const found = new Set<string>();
      const starts = new Map<string, [name: string, written: string][]>();
      const wanted = [...kinds].filter(([kind]) => !without.includes(kind));
      for (const [kind, values] of wanted)
        for (const value of values)
          for (const [form, written] of formsOf(value)) {
            const start = written.slice(0, SHORTEST);
            starts.set(start, [...(starts.get(start) ?? []), [`${kind} in ${form}`, written]]);
          }
      // One reading for all: a search for each form of thousands of secrets takes 13 seconds.
      for (let at = 0; at + SHORTEST <= text.length; at++)
        for (const [name, written] of starts.get(text.slice(at, at + SHORTEST)) ?? [])
          if (text.startsWith(written, at)) found.add(name);
      return [...found].sort();
    },
  };
}

/** Plain, for URLs, in a JSON text, in hex, and in base64 at each of the three places at which it may begin. */
function formsOf(secret: string): [form: string, text: string][] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  return [
    ['plain', secret],
    ['URL encoding', encodeURIComponent(secret)],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['hex', hex],
    ...[0, 1, 2].flatMap((before): [string, string][] => {
      // What is around the secret changes the characters at its two ends, so they are left out.
      const encoded = Buffer.concat([Buffer.alloc(before), bytes]);
      const whole = encoded.subarray(0, encoded.length - (encoded.length % 3));
      const first = before === 0 ? 0 : 4;
      return [
        ['base64', whole.toString('base64').slice(first)],
        ['base64url', whole.toString('base64url').slice(first)],
      ];
    }),
  ];
}
