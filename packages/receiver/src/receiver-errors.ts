// Errors that choose the answer to a delivery. A handler and a delivery log throw them.

/**
 * Thrown by a handler or a log to postpone the delivery by `seconds`. The answer is 503 with `Retry-After`, and the
 * service then holds all deliveries of the subscription. With `onlyThisDelivery` the answer is 500, and the other
 * deliveries continue.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;
  readonly onlyThisDelivery: boolean;

  /** @throws {RangeError} unless `seconds` is a whole number from 0 */
  constructor(seconds: number, { onlyThisDelivery = false }: { onlyThisDelivery?: boolean } = {}) {
    super(`try again in ${seconds} s`);
    if (!Number.isSafeInteger(seconds) || seconds < 0) throw new RangeError('seconds must be a whole number');
    this.seconds = seconds;
    this.onlyThisDelivery = onlyThisDelivery;
  }
}

/** Thrown by a handler when the delivery can never be processed. The answer is 422, and the service does not retry. */
export class RejectDelivery extends Error {
  override readonly name = 'RejectDelivery';
}

/** The raw body is missing, because code that was mounted before the receiver has read the request. */
export class RawBodyMissing extends Error {
  override readonly name = 'RawBodyMissing';

  constructor() {
    super(
      'The raw body of the delivery has already been read, so its signature cannot be verified. ' +
        'Mount the receiver before every body parser (express.json(), koa-bodyparser), keep them off its path, or ' +
        'have them keep the bytes in request.rawBody.',
    );
  }
}

export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

export function printError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: the one output that every JavaScript runtime has
  console.error(error);
}
