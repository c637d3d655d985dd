// `countersign verify-receiver <url>`: sends a receiver good and bad deliveries, and says what to mend.

import type { Command } from 'commander';
import { fetchWhole } from '../../../packages/agent/src/whole-answer.ts';
import { classifyResponse } from '../../platform/egress/outcome.ts';
import { isOnThisMachine } from './listening.ts';
import { type Case, makeCases } from './receiver-cases.ts';
import { CommandFailure, faultOf, readSecret, readTarget, type TerminalRuntime } from './runtime.ts';

type Options = { readonly secret?: string; readonly remote?: true; readonly json?: true };

/** `said`: the first line of the answer's body; `fault`: why there was no answer. */
type Result = Case & {
  readonly answer: string;
  readonly ok: boolean;
  readonly said?: string;
  readonly fault?: string;
};

/** Milliseconds for one answer, and characters that are shown of it. */
const PATIENCE = 15_000;
const LONGEST_LINE = 160;

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
      for (const each of makeCases(secret, Math.floor(Date.now() / 1000))) {
        const result = await tryCase(url, each);
        // Advice about signatures is of no use where nothing answers.
        if (results.length === 0 && result.fault !== undefined) throw noAnswer(url, result.fault);
        results.push(result);
      }
      const held = results.filter(({ ok }) => ok).length;
      if (options.json) {
        const cases = results.map(({ name, wants, answer, ok, advice, said }) => ({
          case: name,
          wants,
          answer,
          ok,
          ...(ok ? {} : { advice, said }),
        }));
        print(JSON.stringify({ score: held, of: results.length, cases }));
      } else {
        for (const { name, answer, ok, advice, said } of results) {
          print(`${ok ? '✓' : '✗'} ${name.padEnd(36)} ${answer}`);
          if (ok) continue;
          print(`    ${advice}`);
          if (said !== undefined) print(`    it says: ${said}`);
        }
        print(
          `\n${held} of ${results.length}${held === results.length ? ': a receiver to rely on.' : '. docs/receiving.md has receivers that pass.'}`,
        );
      }
      if (held < results.length) fail(1);
    });
}

function noAnswer(url: string, fault: string): CommandFailure {
  const { host } = new URL(url);
  return new CommandFailure(
    fault === 'ECONNREFUSED' ? `Nothing listens at ${host}.` : `${host} gives no answer (${fault}).`,
  );
}

/** What to do about an answer to a good delivery that has nothing to do with its signature. */
function mendAnswer(status: number): string | undefined {
  if (status === 404) return 'nothing is at this path: compare it with the route of the receiver';
  if (status === 405) return 'a delivery is a POST: take POST at this path';
  if (status >= 500)
    return 'it fell over, and its log says why; mostly a body parser comes before the verification, or the handler throws';
  if (status >= 300 && status < 400)
    return 'a delivery follows no redirect: use the address that it leads to';
  return undefined;
}

/** @returns the first line with something in it, as a terminal may show it */
function firstLine(text: string): string | undefined {
  const line = text.split('\n').find((one) => one.trim() !== '');
  return line
    ?.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, ' ')
    .trim()
    .slice(0, LONGEST_LINE);
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
    const response = await fetchWhole(fetch, url, request, PATIENCE);
    const { status } = response;
    const { kind } = classifyResponse(status);
    const said = firstLine(await response.text());
    const result = { ...tried, answer: String(status), ...(said !== undefined && { said }) };
    if (tried.wants === 'accept')
      return { ...result, ok: kind === 'delivered', advice: mendAnswer(status) ?? tried.advice };
    if (kind === 'gone' || kind === 'rejected')
      return { ...result, ok: false, advice: mend(method, status, kind) };
    return { ...result, ok: kind === 'retry' && status < 500 };
  } catch (error) {
    const fault = faultOf(error as Error);
    return { ...tried, answer: `no answer (${fault})`, ok: false, fault };
  }
}
