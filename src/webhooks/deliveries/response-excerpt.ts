// Makes the excerpt of a receiver's answer that is stored and shown. It contains no control characters. Pure.

export const MAX_EXCERPT_BYTES = 1024;

// Control characters except tab and line feed, line and paragraph separators, and marks that change text direction.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Decodes the first 1024 bytes as UTF-8. Invalid sequences become U+FFFD; an incomplete last character, control
 * characters and direction marks are removed. The result has at most 1024 characters.
 */
export function excerptOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXCERPT_BYTES), { stream: true });
  return text.replace(UNSAFE, (character) => (character === '\n' || character === '\t' ? character : ''));
}
