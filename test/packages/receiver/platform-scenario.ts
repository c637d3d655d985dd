// What a receiver must do on every platform: take what our sender sends, and end no delivery by a fault of the set-up.
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { expect } from 'vitest';
import { MAX_EVENT_BYTES } from '../../../src/events/event.ts';
import { classifyResponse } from '../../../src/platform/egress/outcome.ts';
import { enclose } from '../../../src/webhooks/subscriptions/envelope.ts';
import { attemptTo, type startLocalSender } from '../../webhooks/deliveries/attempt.ts';
import { SECRET, signedDelivery } from './delivery-request.ts';

type Sender = ReturnType<typeof startLocalSender>['sender'];

const secrets = { current: SECRET };
const LARGEST = makeEvent(MAX_EVENT_BYTES);

function makeEvent(bytes: number): Uint8Array {
  const encode = (data: string) =>
    new TextEncoder().encode(
      JSON.stringify({ event_id: 'e', type: 'a.b', occurred_at: 'now', tenant_id: 't', data }),
    );
  return encode('x'.repeat(bytes - encode('').length));
}

/** Sends genuine, forged, large and spoiled deliveries to a receiver that has SECRET, by our sender and by a proxy. */
export async function expectSafeReceiver(url: string, sender: Sender): Promise<void> {
  const genuine = attemptTo(url, { secrets, deliveryId: randomUUID() });
  const another = (changes: Parameters<typeof attemptTo>[1]) => ({
    ...genuine,
    deliveryId: randomUUID(),
    ...changes,
  });
  const answers = [];
  for (const attempt of [
    genuine,
    genuine,
    another({ secrets: { current: 'another' } }),
    another({ body: LARGEST }),
    another(enclose('cloudevents-structured', LARGEST)),
  ]) {
    const { statusCode, responseExcerpt } = await sender.send(attempt);
    answers.push(`${statusCode} ${responseExcerpt}`);
  }
  expect(answers).toEqual([
    '200 {"status":"processed"}',
    '200 {"status":"ignored"}',
    '401 {"error":"invalid_signature"}',
    '200 {"status":"processed"}',
    '200 {"status":"processed"}',
  ]);
  expect(await post(url, { 'transfer-encoding': 'chunked' })).toBe(200);
  for (const type of [
    undefined,
    'text/plain',
    'application/octet-stream',
    'json',
    'application/json, text/plain',
  ]) {
    const status = await post(url, { 'content-type': type });
    expect([type, status, classifyResponse(status).kind]).toEqual([type, status, 'retry']);
  }
}

/** Sends a genuine delivery whose headers a proxy has changed. @returns the status */
function post(url: string, changes: Record<string, string | undefined>): Promise<number> {
  const { headers, body } = signedDelivery();
  const changed = Object.entries({ ...headers, 'content-length': String(body.length), ...changes }).filter(
    ([name, value]) => value !== undefined && !(name === 'content-length' && 'transfer-encoding' in changes),
  );
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent: false, headers: Object.fromEntries(changed) };
    const outgoing = httpRequest(url, options, (incoming) => {
      incoming.resume();
      incoming.on('end', () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
