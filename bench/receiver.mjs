// A receiver that remembers how long each event took to it: its time of publication is in its data. `healthy` answers
// 204 immediately, `slow` after 5 s; `flaky` refuses each delivery's first attempt
// with 503 and Retry-After: 1; `away` answers 503 for 3 s from the message `away` on. A delivery is received when its
// 204 goes out to a sender that is still there.
import { createServer } from 'node:http';

const [kind = 'healthy'] = process.argv.slice(2);
let received = [];
let attempts = 0;
let awayUntil = 0;
const seen = new Set();
const now = () => performance.timeOrigin + performance.now();

/** The headers of a refusal, or undefined when the delivery is taken. */
function refusalOf(id, at) {
  if (at < awayUntil) return {};
  if (kind !== 'flaky' || seen.has(id)) return undefined;
  seen.add(id);
  return { 'retry-after': '1' };
}

const server = createServer((request, response) => {
  const at = now();
  const id = request.headers['x-service-delivery'];
  let body = '';
  request.setEncoding('latin1').on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    attempts += 1;
    const refusal = refusalOf(id, at);
    if (refusal !== undefined) return response.writeHead(503, refusal).end();
    const take = () => {
      if (response.destroyed) return;
      response.writeHead(204).end();
      received.push({ id, latency: at - Number(/"published_at":([\d.]+)/.exec(body)?.[1]), at });
    };
    if (kind === 'slow') setTimeout(take, 5_000);
    else take();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send({ port });
});
process.on('message', (message) => {
  if (message === 'count') process.send(new Set(received.map(({ id }) => id)).size);
  if (message === 'away') awayUntil = now() + 3_000;
  if (message !== 'take') return;
  process.send({ received, attempts });
  received = [];
  attempts = 0;
});
process.on('disconnect', () => process.exit());
