// What a long use case needs of its activity: heartbeats, and the signal that ends it.
import { Context } from '@temporalio/activity';

/** @returns the pulse of the activity that runs */
export function currentPulse(): { readonly heartbeat: () => void; readonly signal: AbortSignal } {
  const { heartbeat, cancellationSignal } = Context.current();
  return { heartbeat: () => heartbeat(), signal: cancellationSignal };
}
