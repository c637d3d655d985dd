// Waits for work for a limited time. The work goes on, and its later end is ignored.

/**
 * @param milliseconds to wait at most
 * @param late gives the result of work that takes longer, or throws
 */
export async function within<T, Late>(
  milliseconds: number,
  work: Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
