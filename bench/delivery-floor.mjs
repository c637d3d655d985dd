// The floor of the deliveries: one process that writes an event with one statement, signs and posts it, and records the
// attempt with another. Nothing is kept in order, tried again, limited or audited.
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Agent, createServer, request } from 'node:http';
import { newPool } from '#dist/src/platform/database/client.js';

const [url, receiverPort] = process.argv.slice(2);
const pool = newPool({ connectionString: url, max: 10 });
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const secret = randomBytes(32);
await pool.query(`
  CREATE TABLE floor_deliveries (id uuid PRIMARY KEY, type text, body bytea, created_at timestamptz DEFAULT now());
  CREATE TABLE floor_attempts (delivery_id uuid PRIMARY KEY, status integer, took_ms integer)`);

async function accept(incoming, response) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const id = randomUUID();
  await pool.query({
    name: 'accept',
    text: 'INSERT INTO floor_deliveries (id, type, body) VALUES ($1, $2, $3)',
    values: [id, JSON.parse(body.toString()).type, body],
  });
  response.writeHead(202, { 'content-length': 2 }).end('{}');
  await post(id, body);
}

async function post(id, body) {
  const begun = performance.now();
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-service-delivery': id,
    'x-service-signature': createHmac('sha256', secret).update(id).update(body).digest('hex'),
  };
  const status = await new Promise((resolve, reject) => {
    request({ port: receiverPort, method: 'POST', path: '/floor', agent, headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    })
      .on('error', reject)
      .end(body);
  });
  await pool.query({
    name: 'record',
    text: 'INSERT INTO floor_attempts VALUES ($1, $2, $3)',
    values: [id, status, Math.round(performance.now() - begun)],
  });
}

const server = createServer(accept);
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send({ port });
});
process.on('disconnect', () => process.exit());
