// Recognises, demands and joins byte arrays of request bodies, in any JavaScript runtime.

/** @returns whether a value is a Uint8Array. Unlike `instanceof`, it is true for arrays of another realm. */
export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]';
}

/** @throws {TypeError} when the body of a request is anything else, with what to give instead */
export function checkBytes(body: unknown): asserts body is Uint8Array {
  if (isBytes(body)) return;
  throw new TypeError(
    'body: the raw bytes of the request are needed, a Uint8Array or Buffer, because the signature is over them. ' +
      'Give them as they came, and no text, ArrayBuffer or parsed object.',
  );
}

/** Joins the chunks of a body. @param length the sum of the chunks' lengths */
export function joinBytes(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
