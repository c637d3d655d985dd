// Holds a request whose handler waits: its turns are for its work alone, and its client may go meanwhile.
import type { RequestContext } from '../context.ts';
import type { Hold } from '../hold.ts';
import type { Context } from './request-state.ts';
import type { RequestTurns } from './request-turns.ts';
import type { Route } from './route.ts';

export type MakeHold = (ctx: Context, context: RequestContext) => Hold;

/** @returns undefined for a route that does not hold its requests */
export function createHolds(
  route: Route,
  turns: Pick<RequestTurns, 'inTurn'> | undefined,
): MakeHold | undefined {
  if (!route.holds) return undefined;
  return (ctx, context) => ({
    inTurn: (work) => turns?.inTurn(route, ctx, context, work) ?? work(),
    wait: async (until) => {
      const { state } = ctx;
      const began = performance.now();
      try {
        return await until;
      } finally {
        state.heldMs = (state.heldMs ?? 0) + performance.now() - began;
        await state.authenticateAgain?.();
      }
    },
    gone: signalOfEnd(ctx),
  });
}

function signalOfEnd({ req: { socket }, res }: Context): AbortSignal {
  const ending = new AbortController();
  const end = (): void => {
    res.off('close', end);
    socket.off('close', end);
    ending.abort();
  };
  res.once('close', end);
  // An answer behind another one of its connection is not told when the connection ends.
  socket.setMaxListeners(0).once('close', end);
  if (socket.destroyed) end();
  return ending.signal;
}
