// Judges deliveries in the envelopes of CloudEvents by the SDKs of Python and Go: each event of the catalogue, as it
// comes over the wire.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PYTHON = '2.2.0';
const GO = 'v2.16.2';
const ENCODED = '50%"-of';
/** Go's SDK leaves the encoding of headers (HTTP protocol binding §3.1.3.2) as it is. Its user decodes such an id. */
const UNDECODED = 'Go: the header of an id is not decoded';

export const judge = {
  name: 'cloudevents',
  version: `Python ${PYTHON}, Go ${GO}`,
  what: 'each event of the catalogue as a delivery, structured and binary, read by the SDKs',
  needs: ['python3', 'go'],

  /** @param {{ say: (line: string) => void, folder: string }} context */
  async run({ say, folder }) {
    const deliveries = join(folder, 'deliveries.json');
    const sent = await sendAll();
    writeFileSync(deliveries, JSON.stringify(sent));
    say(`${sent.length} deliveries`);
    const verdicts = [await judgeByPython(folder, deliveries), await judgeByGo(folder, deliveries)];
    const found = verdicts.flat();
    const faults = found.filter((line) => line !== UNDECODED);
    return { passed: 2 * sent.length - found.length, failed: faults.length, warnings: found };
  },
};

/** Sends each example in both envelopes to a server on loopback. @returns what arrived, with what the event must be */
async function sendAll() {
  const { CATALOGUE, exampleOf } = await import('#dist/src/events/catalogue.js');
  const { enclose } = await import('#dist/src/webhooks/subscriptions/envelope.js');
  const { createDeliverySender } = await import('#dist/src/webhooks/deliveries/delivery.client.js');
  const { createGuardedAgent } = await import('#dist/src/platform/egress/guarded-agent.client.js');
  const arrived = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    arrived.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const agent = createGuardedAgent({ allowedNetworks: ['127.0.0.0/8'] });
  const sender = createDeliverySender({ agent });
  const sent = [];
  for (const entry of CATALOGUE)
    for (const envelope of /** @type {const} */ (['cloudevents-structured', 'cloudevents-binary'])) {
      // One id with characters that a header must encode; publishers choose their ids.
      const event = { ...exampleOf(entry), ...(entry === CATALOGUE[0] ? { event_id: ENCODED } : {}) };
      const enclosed = enclose(envelope, new TextEncoder().encode(JSON.stringify(event)));
      const result = await sender.send({
        url: `http://127.0.0.1:${port}/`,
        ...enclosed,
        secrets: { current: 'whsec_a-secret-of-this-subscription-only' },
        maxAge: 300,
        deliveryId: '0193a0f0-0000-7000-8000-000000000001',
        eventType: entry.type,
        now: () => Date.now(),
      });
      if (result.statusCode !== 204) throw new Error(`${entry.type}: ${JSON.stringify(result.outcome)}`);
      sent.push({ ...arrived.at(-1), expected: event });
    }
  await agent.close();
  server.close();
  return sent;
}

async function judgeByPython(folder, deliveries) {
  await run('python3', ['-m', 'venv', join(folder, 'venv')]);
  const bin = join(folder, 'venv', 'bin');
  await run(join(bin, 'pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `cloudevents==${PYTHON}`,
  ]);
  const { stdout } = await run(join(bin, 'python'), [join(import.meta.dirname, 'read.py'), deliveries]);
  return linesOf(stdout);
}

async function judgeByGo(folder, deliveries) {
  const place = join(folder, 'go');
  mkdirSync(place);
  copyFileSync(join(import.meta.dirname, 'read.go.txt'), join(place, 'main.go'));
  const options = { cwd: place, env: { ...process.env, GOFLAGS: '-mod=mod' } };
  await run('go', ['mod', 'init', 'judge'], options);
  await run('go', ['get', `github.com/cloudevents/sdk-go/v2@${GO}`], options);
  const { stdout } = await run('go', ['run', '.', deliveries], options);
  return linesOf(stdout);
}

function linesOf(text) {
  return text.split('\n').filter((line) => line !== '');
}
