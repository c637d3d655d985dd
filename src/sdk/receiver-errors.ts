// Errors by which a handler, a delivery log or the reading of a body decides how a delivery is answered.

/**
 * Thrown by a handler or a log: not now, try again in `seconds`. The answer is 503 with `Retry-After`, on which the
 * service also holds the subscription's other deliveries until then; with `onlyThisDelivery` it is 500, and the others
 * go on.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;
  readonly onlyThisDelivery: boolean;

  /** @throws {RangeError} when `seconds` is no whole number from 0 on */
  constructor(seconds: number, { onlyThisDelivery = false }: { onlyThisDelivery?: boolean } = {}) {
    super(`try again in ${seconds} s`);
    if (!Number.isSafeInteger(seconds) || seconds < 0) throw new RangeError('seconds must be a whole number');
    this.seconds = seconds;
    this.onlyThisDelivery = onlyThisDelivery;
  }
}

/** Thrown by a handler: this delivery can never be processed. The answer is 422, and the service does not try again. */
export class RejectDelivery extends Error {
  override readonly name = 'RejectDelivery';
}

/**
 * The raw body is missing: other code read the request before the receiver. A mistake in the program that mounts it.
 */
export class RawBodyMissing extends Error {
  override readonly name = 'RawBodyMissing';

  constructor() {
    super(
      'The raw body of the delivery has already been read, so its signature cannot be verified. ' +
        'Mount the receiver before every body parser (express.json(), koa-bodyparser), or keep them off its path.',
    );
  }
}

/** The body is longer than the receiver accepts. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The default of `onError`: errors are printed. */
export function printError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: the one output that every JavaScript runtime has
  console.error(error);
}
