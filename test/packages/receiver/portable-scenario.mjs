// What a receiver does in any JavaScript runtime, with web interfaces only. The tests run it in a browser and in a bare
// context.

/**
 * @param {typeof import('../../../packages/receiver/src/index.ts')} receiver the module under test
 * @param {{ secret: string, headers: Record<string, string>, body: string }} delivery a genuine one
 */
export async function runScenario(receiver, { secret, headers, body }) {
  const handled = [];
  const log = receiver.createMemoryDeliveryLog();
  const handler = (delivery) => void handled.push(`${delivery.eventType} ${delivery.eventId}`);
  const receive = receiver.createFetchReceiver({ secrets: secret, log, handler });
  const post = async (changes = {}, sent = body) => {
    const init = { method: 'POST', headers: { ...headers, ...changes }, body: sent };
    const response = await receive(new Request('https://receiver.test/', init));
    return `${response.status} ${await response.text()}`;
  };
  const raw = { method: 'POST', headers: new Headers(headers), body: new TextEncoder().encode(body) };
  return {
    answers: [
      await post({ 'x-service-event': 'auth.logout' }),
      await post({}, `${body} `),
      await post(),
      await post(),
    ],
    handled,
    records: log.records().map(({ status }) => status),
    verified: (await receiver.verifyDelivery({ ...raw, secrets: secret })).ok,
    unverified: (await receiver.verifyDelivery({ ...raw, secrets: 'another' })).ok,
    node: [typeof process, typeof Buffer, typeof require, typeof global],
  };
}
