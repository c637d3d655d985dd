// A receiver that remembers how long each event took to it: its time of publication is in its data. `healthy` answers 204 immediately; `first`
// refuses each delivery's first attempt with 503 and Retry-After: 1; `away` answers 503 for 3 s from the message `away` on.
import { createServer } from 'node:http';

const [kind = 'healthy'] = process.argv.slice(2);
let received = [];
let awayUntil = 0;
const seen = new Set();
const now = () => performance.timeOrigin + performance.now();

/** The headers of a refusal, or undefined when the delivery is taken. */
function refusalOf({ headers }, at) {
  if (at < awayUntil) return {};
  const id = headers['x-service-delivery'];
  if (kind !== 'first' || seen.has(id)) return undefined;
  seen.add(id);
  return { 'retry-after': '1' };
}

const server = createServer((request, response) => {
  const at = now();
  let body = '';
  request.setEncoding('latin1').on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const refusal = refusalOf(request, at);
    response.writeHead(refusal === undefined ? 204 : 503, refusal).end();
    if (refusal === undefined)
      received.push({ latency: at - Number(/"published_at":([\d.]+)/.exec(body)?.[1]), at });
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', (message) => {
  if (message === 'count') process.send(received.length);
  if (message === 'away') awayUntil = now() + 3_000;
  if (message !== 'take') return;
  process.send(received);
  received = [];
});
process.on('disconnect', () => process.exit());
