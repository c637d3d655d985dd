// A receiver that answers 204 at once and remembers how long each event took to it: its time of publication is in its data.
import { createServer } from 'node:http';

let received = [];
const now = () => performance.timeOrigin + performance.now();
const server = createServer((request, response) => {
  const at = now();
  let body = '';
  request.setEncoding('latin1').on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    received.push({ latency: at - Number(/"published_at":([\d.]+)/.exec(body)?.[1]), at });
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', (message) => {
  if (message === 'count') process.send(received.length);
  if (message !== 'take') return;
  process.send(received);
  received = [];
});
process.on('disconnect', () => process.exit());
