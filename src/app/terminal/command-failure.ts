// The expected failure of a command at the terminal: what is wrong and what to do, in a few lines without a stack.

/** `message` may have several lines. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
