// Prepares the beginning of a receiver's answer for storage and display: the result has no control characters. Pure.

/** The most bytes of an answer that are kept. */
export const MAX_EXCERPT_BYTES = 1024;

// Control characters but tab and line feed, and marks that change the direction of text.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * The first 1024 bytes as text: UTF-8, broken sequences as U+FFFD, an incomplete last character left out; without NUL,
 * other control characters and marks that reverse text. Never longer than 1024 characters.
 */
export function excerptOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXCERPT_BYTES), { stream: true });
  return text.replace(UNSAFE, (character) => (character === '\n' || character === '\t' ? character : ''));
}
