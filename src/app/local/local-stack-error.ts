// The error for the operator of a local stack, always one line.

/** The local stack cannot start or run; `message` is one line that names the fault and its remedy. */
export class LocalStackError extends Error {
  override readonly name = 'LocalStackError';
}

/**
 * Turns an error text about a lack of disk space into one line for the operator.
 * @param text an error's message, or the end of a part's log
 * @param folder the folder on the full disk
 * @returns null when the text has another cause
 */
export function asDiskFull(text: string, folder: string): LocalStackError | null {
  if (!/ENOSPC|EDQUOT|No space left on device|database or disk is full|disk quota exceeded/i.test(text))
    return null;
  return new LocalStackError(
    `The disk is full: free some space for ${folder}, or set DATA_DIR to a folder on another disk.`,
  );
}
