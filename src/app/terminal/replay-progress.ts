// Follows a bulk replay that a command has begun, until it has ended or Ctrl-C ends the following.
import { setTimeout as pause } from 'node:timers/promises';
import type { TerminalRuntime } from './runtime.ts';
import type { Json, TenantApi } from './tenant-api.client.ts';

const EVERY_MS = 1_000;

/** @param path of the bulk replay @param begun the answer that began it */
export async function followReplay(
  api: Pick<TenantApi, 'call'>,
  path: string,
  begun: Json,
  { print, tell, interrupted }: Pick<TerminalRuntime, 'print' | 'tell' | 'interrupted'>,
): Promise<void> {
  const signal = interrupted();
  let shown = '';
  for (let replay = begun; ; replay = await api.call('GET', path)) {
    const line = `${replay.replayed} of ${replay.matched} are sent again`;
    if (replay.status !== 'running') return print(`${line}: ${replay.status}.`);
    if (line !== shown) tell(line);
    shown = line;
    const isOver = await pause(EVERY_MS, false, { signal }).catch(() => true);
    if (isOver) return print(`It goes on: GET ${path}`);
  }
}
