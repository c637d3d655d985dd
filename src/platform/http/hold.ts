// Holds a request whose handler waits: its turns are for its work alone, and its client may go meanwhile.
import type { RequestContext } from '../context.ts';
import type { Hold } from '../hold.ts';
import type { Context } from './request-state.ts';
import type { RequestTurns } from './request-turns.ts';
import type { Route } from './route.ts';

/** Milliseconds after which the token of a request that does nothing but wait is checked again. */
const CHECK_EVERY = 10_000;

export type MakeHold = (ctx: Context, context: RequestContext) => Hold;

/** @returns undefined for a route that does not hold its requests */
export function createHolds(
  route: Route,
  turns: Pick<RequestTurns, 'inTurn' | 'isShared'> | undefined,
): MakeHold | undefined {
  if (!route.holds) return undefined;
  return (ctx, context) => {
    const { state } = ctx;
    let checkedAt = performance.now();
    const check = async (patience: number): Promise<void> => {
      if (state.heldMs === undefined || performance.now() - checkedAt < patience) return;
      await state.authenticateAgain?.();
      checkedAt = performance.now();
    };
    return {
      inTurn: async (work) => {
        await check(0);
        return turns?.inTurn(route, ctx, context, work) ?? work();
      },
      wait: async (until) => {
        const began = performance.now();
        const result = await until;
        state.heldMs = (state.heldMs ?? 0) + performance.now() - began;
        await check(CHECK_EVERY);
        return result;
      },
      isShared: () => turns?.isShared() ?? false,
      onEnd: (listener) => callAtEnd(ctx, listener),
    };
  };
}

/**
 * Calls a listener when the client has gone, and after the answer; perhaps repeatedly. Thousands of requests are held:
 * an AbortSignal and two wrappers of `once` would be a kilobyte of each.
 */
export function callAtEnd({ req: { socket }, res }: Context, listener: () => void): void {
  const end = (): void => {
    res.off('close', end);
    socket.off('close', end);
    listener();
  };
  res.on('close', end);
  // An answer behind another one of its connection is not told when the connection ends.
  // A client may send many requests before it reads: that is no leak.
  socket.setMaxListeners(0).on('close', end);
  if (socket.destroyed) end();
}
