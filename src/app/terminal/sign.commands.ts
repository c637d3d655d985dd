// `countersign sign`: signs a body on stdin as a delivery, and prints its headers, for tests of one's own receiver.
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { parseJson } from '../../platform/json-values.ts';
import { signDelivery } from '../../webhooks/signing/delivery-signature.node.ts';
import { CommandFailure, readSecret, type TerminalRuntime } from './runtime.ts';

type Options = {
  readonly secret?: string;
  readonly nextSecret?: string;
  readonly type?: string;
  readonly deliveryId?: string;
  readonly timestamp?: string;
  readonly json?: true;
};

/** Fills in `sign`. */
export function registerSignCommand(sign: Command, { print, env, readInput }: TerminalRuntime): void {
  sign
    .option('--secret <text>', 'the secret of the subscription; WEBHOOK_SECRET unless given')
    .option('--next-secret <text>', 'also the signature of the next secret, as during a rotation')
    .option('--type <type>', 'the event type; that of the body unless given')
    .option('--delivery-id <id>', 'a new one unless given')
    .option('--timestamp <seconds>', 'Unix seconds; now unless given')
    .option('--json', 'print one object instead of lines for curl -H @file')
    .action(async (options: Options) => {
      const secret = readSecret(options, { env });
      const body = await readInput();
      const timestamp = Number(options.timestamp ?? Math.floor(Date.now() / 1000));
      if (!Number.isSafeInteger(timestamp) || timestamp < 0)
        throw new CommandFailure('--timestamp: must be Unix seconds');
      const headers = {
        'Content-Type': 'application/json',
        ...signDelivery({
          secrets: { current: secret, next: options.nextSecret },
          timestamp,
          maxAge: 300,
          deliveryId: options.deliveryId ?? randomUUID(),
          eventType: options.type ?? typeOf(body),
          body,
        }),
      };
      if (options.json) return print(JSON.stringify(headers));
      for (const [name, value] of Object.entries(headers)) print(`${name}: ${value}`);
    });
}

function typeOf(body: Buffer): string {
  const { type } = (parseJson(String(body)) ?? {}) as { type?: unknown };
  if (typeof type === 'string' && /^[\x21-\x7e]{1,128}$/.test(type)) return type;
  throw new CommandFailure('--type is needed: the body on stdin has no type.');
}
