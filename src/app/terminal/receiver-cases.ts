// The requests of `countersign verify-receiver`: what a receiver must accept, and what it must refuse.
import { randomBytes, randomUUID } from 'node:crypto';
import { signDelivery } from '../../webhooks/signing/delivery-signature.node.ts';

export type Case = {
  readonly name: string;
  readonly wants: 'accept' | 'refuse';
  /** What to do when the receiver answers otherwise. */
  readonly advice: string;
  readonly request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: Buffer;
  };
};

const TYPE = 'webhook.test';
const MAX_AGE = 300;
const HOUR = 3_600;
const SIGNATURE = 'X-Service-Signature-256';

/** @param now Unix seconds */
export function makeCases(secret: string, now: number): Case[] {
  const { body, sign } = createSender(secret, now);
  const stranger = randomBytes(32).toString('base64');
  const repeatedId = randomUUID();
  const sent = body('countersign verify-receiver');
  const good = sign(sent);
  const without = (name: string) =>
    Object.fromEntries(Object.entries(good).filter(([each]) => each !== name));
  const post = (headers: Readonly<Record<string, string>>, changed = sent) => ({
    method: 'POST',
    headers,
    body: changed,
  });
  const repeated = post(sign(sent, { id: repeatedId }));

  return [
    {
      name: 'a good delivery',
      wants: 'accept',
      advice:
        'answer 2xx. A 401 here mostly means another secret, or that the body was parsed before it was verified: sign over the raw bytes',
      request: repeated,
    },
    {
      name: 'the same delivery again',
      wants: 'accept',
      advice: 'a delivery may come twice: find it by X-Service-Delivery, do nothing, and answer 2xx',
      request: repeated,
    },
    {
      name: 'a new secret during a rotation',
      wants: 'accept',
      advice: `compare with ${SIGNATURE}-Next too: during the overlap of a rotation it has the signature by the new secret`,
      request: post(sign(sent, { current: stranger, next: secret })),
    },
    {
      name: 'forged: signed with another secret',
      wants: 'refuse',
      advice: 'verify the signature before anything else, and answer 401',
      request: post(sign(sent, { current: stranger })),
    },
    {
      name: 'a body that was changed',
      wants: 'refuse',
      advice: 'the signature is over the exact bytes of the body: verify those, not the parsed JSON',
      request: post(good, body('changed on the way')),
    },
    {
      name: 'without a signature',
      wants: 'refuse',
      advice: `a missing ${SIGNATURE} must be refused like a wrong one`,
      request: post(without(SIGNATURE)),
    },
    {
      name: 'stale: an hour old',
      wants: 'refuse',
      advice: `refuse when X-Service-Timestamp is older than X-Service-Signature-Max-Age seconds (here ${MAX_AGE}), after the signature was verified`,
      request: post(sign(sent, { at: now - HOUR })),
    },
    {
      name: 'an hour in the future',
      wants: 'refuse',
      advice: 'refuse when X-Service-Timestamp is more than 60 s ahead: otherwise it can be replayed later',
      request: post(sign(sent, { at: now + HOUR })),
    },
    {
      name: 'an unknown suite',
      wants: 'refuse',
      advice: 'refuse every X-Service-Signature-Suite that you do not implement',
      request: post({ ...good, 'X-Service-Signature-Suite': 'service-webhook-v0' }),
    },
    {
      name: 'another method',
      wants: 'refuse',
      advice: 'a delivery is a POST: answer 405 to everything else',
      request: { method: 'PUT', headers: sign(sent), body: sent },
    },
    {
      name: 'another content type',
      wants: 'refuse',
      advice: 'answer 401 unless it is application/json (or application/cloudevents+json)',
      request: post({ ...sign(sent), 'Content-Type': 'text/plain' }),
    },
  ];
}

/** @returns `body`: the bytes of an event with a message; `sign`: the headers of a delivery of such bytes */
function createSender(secret: string, now: number) {
  const body = (message: string) =>
    Buffer.from(
      JSON.stringify({
        event_id: randomUUID(),
        type: TYPE,
        occurred_at: new Date(now * 1000).toISOString(),
        tenant_id: '00000000-0000-7000-8000-000000000000',
        data: { message },
      }),
    );
  const sign = (
    sent: Buffer,
    {
      at = now,
      id = randomUUID(),
      current = secret,
      next,
    }: { at?: number; id?: string; current?: string; next?: string } = {},
  ) => ({
    'Content-Type': 'application/json',
    ...signDelivery({
      secrets: { current, next },
      timestamp: at,
      maxAge: MAX_AGE,
      deliveryId: id,
      eventType: TYPE,
      body: sent,
    }),
  });
  return { body, sign };
}
