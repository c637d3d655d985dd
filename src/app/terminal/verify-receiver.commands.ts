// `countersign verify-receiver <url>`: sends a receiver good and bad deliveries, and says what to mend.

import type { Command } from 'commander';
import { fetchWhole } from '../../../packages/agent/src/whole-answer.ts';
import { classifyResponse } from '../../platform/egress/outcome.ts';
import { isOnThisMachine } from './listening.ts';
import { type Case, makeCases } from './receiver-cases.ts';
import { CommandFailure, faultOf, readSecret, readTarget, type TerminalRuntime } from './runtime.ts';

type Options = { readonly secret?: string; readonly remote?: true; readonly json?: true };

type Result = Case & { readonly answer: string; readonly ok: boolean };

/** Milliseconds for one answer. */
const PATIENCE = 15_000;

/** Fills in `verify-receiver`. */
export function registerVerifyReceiverCommand(
  command: Command,
  { print, tell, env, fail }: TerminalRuntime,
): void {
  command
    .argument('<url>', 'the receiver, on this machine')
    .option('--secret <text>', 'the secret that it verifies with; WEBHOOK_SECRET unless given')
    .option('--remote', 'the receiver is yours, and is not on this machine')
    .option('--json', 'print the object only')
    .action(async (text: string, options: Options) => {
      const url = readTarget(text, '<url>');
      const secret = readSecret(options, { env });
      if (!isOnThisMachine(url)) {
        if (options.remote !== true)
          throw new CommandFailure(
            `${new URL(url).host} is not this machine. Forged deliveries to a receiver of somebody else are an attack: --remote says that it is yours.`,
          );
        tell(`Sending good and forged deliveries to ${new URL(url).host}. What it accepts, it will process.`);
      }
      const results: Result[] = [];
      for (const each of makeCases(secret, Math.floor(Date.now() / 1000)))
        results.push(await tryCase(url, each));
      const held = results.filter(({ ok }) => ok).length;
      if (options.json) {
        const cases = results.map(({ name, wants, answer, ok, advice }) => ({
          case: name,
          wants,
          answer,
          ok,
          ...(ok ? {} : { advice }),
        }));
        print(JSON.stringify({ score: held, of: results.length, cases }));
      } else {
        for (const { name, answer, ok, advice } of results) {
          print(`${ok ? '✓' : '✗'} ${name.padEnd(36)} ${answer}`);
          if (!ok) print(`    ${advice}`);
        }
        print(
          `\n${held} of ${results.length}${held === results.length ? ': a receiver to rely on.' : '. docs/receiving.md has receivers that pass.'}`,
        );
      }
      if (held < results.length) fail(1);
    });
}

/** What to answer to a request that the set-up may have spoiled. */
function mend(method: string, status: number, kind: 'gone' | 'rejected'): string {
  const right = method === 'POST' ? 401 : 405;
  const ended = kind === 'gone' ? 'subscription' : 'delivery';
  return `answer ${right}: the fault may be a secret, a clock or a proxy, and the delivery must come again when that is mended; ${status} ends the ${ended}`;
}

async function tryCase(url: string, tried: Case): Promise<Result> {
  const { method, headers, body } = tried.request;
  try {
    const sent = body === undefined ? {} : { body: new Uint8Array(body) };
    const request = { method, headers, redirect: 'manual', ...sent } as const;
    const { status } = await fetchWhole(fetch, url, request, PATIENCE);
    const { kind } = classifyResponse(status);
    const answer = String(status);
    if (tried.wants === 'accept') return { ...tried, answer, ok: kind === 'delivered' };
    if (kind === 'gone' || kind === 'rejected')
      return { ...tried, answer, ok: false, advice: mend(method, status, kind) };
    return { ...tried, answer, ok: kind === 'retry' && status < 500 };
  } catch (error) {
    return { ...tried, answer: `no answer (${faultOf(error as Error)})`, ok: false };
  }
}
