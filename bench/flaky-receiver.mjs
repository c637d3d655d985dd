// Receivers that refuse: `first` refuses each delivery's first attempt with 503 and Retry-After: 1; `away` answers 503 for 3 s from a message on.
import { createServer } from 'node:http';

const [kind] = process.argv.slice(2);
let received = [];
let refused = 0;
let awayUntil = 0;
const seen = new Set();
const now = () => performance.timeOrigin + performance.now();
const server = createServer((request, response) => {
  const at = now();
  let body = '';
  request.setEncoding('latin1').on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const id = request.headers['x-service-delivery'];
    const isFirst = kind === 'first' && !seen.has(id);
    seen.add(id);
    if (isFirst || at < awayUntil) {
      refused += 1;
      response.writeHead(503, isFirst ? { 'retry-after': '1' } : {}).end();
      return;
    }
    response.writeHead(204).end();
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
  process.stderr.write(`${refused} attempts refused\n`);
  received = [];
});
process.on('disconnect', () => process.exit());
