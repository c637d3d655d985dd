// Holds the envelopes of deliveries against the CloudEvents SDK: every event of the catalogue in every mode.
import { type CloudEvent, HTTP } from 'cloudevents';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryDeliveryLog } from '../../../packages/receiver/src/memory-delivery-log.ts';
import { type ReceivedDelivery, receive } from '../../../packages/receiver/src/receive.ts';
import { CATALOGUE, exampleOf } from '../../../src/events/catalogue.ts';
import { MAX_EVENT_BYTES } from '../../../src/events/event.ts';
import { ENVELOPES, type Envelope, enclose, sourceOf } from '../../../src/webhooks/subscriptions/envelope.ts';
import { SECRET, signedDelivery } from '../../packages/receiver/delivery-request.ts';
import {
  type LocalReceiver,
  type ReceivedRequest,
  readRequest,
  startReceiver,
} from '../receiver/local-receiver.ts';
import { attemptTo, SECRETS, startLocalSender } from './attempt.ts';

const CLOUD_EVENTS = ENVELOPES.filter((name) => name !== 'plain');

const bytesOf = (event: object) => new TextEncoder().encode(JSON.stringify(event));

/** Reads what a delivery sends as the SDK does, which throws for an event that is not valid. */
function read(headers: Readonly<Record<string, string | string[] | undefined>>, body: Uint8Array) {
  const event = HTTP.toEvent<unknown>({ headers, body: new TextDecoder().decode(body) });
  if (Array.isArray(event)) throw new Error('one event was sent');
  const cloudEvent = event as CloudEvent<unknown>;
  cloudEvent.validate();
  return cloudEvent;
}

const event = (changes: object = {}) => ({
  ...exampleOf(CATALOGUE[0] as (typeof CATALOGUE)[number]),
  ...changes,
});

describe('an envelope', () => {
  it('leaves the stored bytes as they are by default', () => {
    const body = bytesOf(event());
    const { headers, contentType, ...enclosed } = enclose('plain', body);
    expect(enclosed.body).toBe(body);
    expect([headers, contentType]).toEqual([{}, 'application/json']);
  });

  it.each(CLOUD_EVENTS)('of %s is a valid CloudEvent for every type of the catalogue', (envelope) => {
    for (const example of CATALOGUE.map(exampleOf)) {
      const { body, contentType, headers } = enclose(envelope, bytesOf(example));
      const cloudEvent = read({ ...headers, 'content-type': contentType }, body);
      expect(cloudEvent).toMatchObject({
        specversion: '1.0',
        id: example.event_id,
        source: sourceOf(example.tenant_id),
        type: example.type,
        time: example.occurred_at,
        datacontenttype: 'application/json',
      });
      expect(cloudEvent.data).toEqual(example.data);
    }
  });

  it.each(CLOUD_EVENTS)(
    'of %s has the same bytes in each attempt, and loses nothing of the data',
    (envelope) => {
      fc.assert(
        fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
          const stored = bytesOf(event({ data }));
          const { body } = enclose(envelope, stored);
          expect(enclose(envelope, stored).body).toEqual(body);
          const sent = JSON.parse(new TextDecoder().decode(body));
          expect(envelope === 'cloudevents-binary' ? sent : sent.data).toEqual(
            JSON.parse(JSON.stringify(data)),
          );
        }),
      );
    },
  );

  it.each(ENVELOPES)('of %s around the largest event is taken by a receiver', async (envelope) => {
    const room = MAX_EVENT_BYTES - bytesOf(event({ data: '' })).length;
    const stored = bytesOf(event({ data: 'x'.repeat(room) }));
    expect(stored).toHaveLength(MAX_EVENT_BYTES);
    const { body, contentType, headers } = enclose(envelope, stored);
    const sent = signedDelivery({ body });
    const request = { ...sent, headers: { ...sent.headers, ...headers, 'content-type': contentType } };
    const answer = await receive(request, { secrets: SECRET, log: createMemoryDeliveryLog() });
    expect(answer.status).toBe(202);
  });

  it('encodes in headers what they must not hold', () => {
    const { headers } = enclose('cloudevents-binary', bytesOf(event({ event_id: '50%-"é"-{a}' })));
    expect(headers['ce-id']).toBe('50%25-%22%C3%A9%22-{a}');
  });
});

describe('a delivery in an envelope', () => {
  const local = startLocalSender();
  const received: ReceivedRequest[] = [];
  let receiver: LocalReceiver;
  beforeAll(async () => {
    receiver = await startReceiver(async (request, response) => {
      received.push(await readRequest(request));
      response.writeHead(204).end();
    });
  });
  afterAll(async () => {
    await local.close();
    await receiver.close();
  });

  async function deliver(envelope: Envelope, stored: object): Promise<ReceivedRequest> {
    received.length = 0;
    const url = `http://127.0.0.1:${receiver.port}/`;
    await local.sender.send(attemptTo(url, enclose(envelope, bytesOf(stored))));
    expect(received).toHaveLength(1);
    return received[0] as ReceivedRequest;
  }

  it.each(ENVELOPES)(
    'of %s is signed over the body that is sent, and read by both libraries',
    async (envelope) => {
      const stored = event({ event_id: 'o-100%' });
      const { headers, body } = await deliver(envelope, stored);
      const found: ReceivedDelivery[] = [];
      const answer = await receive(
        { method: 'POST', headers, body },
        {
          secrets: SECRETS.current,
          log: createMemoryDeliveryLog(),
          handler: (delivery) => {
            found.push(delivery);
          },
        },
      );
      expect(answer.status).toBe(200);
      // What no signature covers is not reported.
      const eventId = envelope === 'cloudevents-binary' ? undefined : 'o-100%';
      expect(found).toMatchObject([{ eventId, payload: JSON.parse(body.toString()) }]);
      const standard = new Webhook(SECRETS.current, { format: 'raw' });
      expect(() => standard.verify(body, headers as Record<string, string>)).not.toThrow();
      expect(headers).toMatchObject({
        'x-service-event': 'auth.login.success',
        'x-service-delivery': expect.any(String),
      });
      if (envelope !== 'plain') expect(read(headers, body).data).toEqual(stored.data);
    },
  );

  it('of cloudevents-structured says so in its content type', async () => {
    const { headers } = await deliver('cloudevents-structured', event());
    expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  });
});
