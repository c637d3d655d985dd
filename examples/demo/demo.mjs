// `npm run demo`: what Countersign does, shown against the running service by programs as a user writes them. Exits 0
// only if every check held.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { showAgents } from './agents.mjs';
import { showDeliveries } from './deliveries.mjs';

const started = Date.now();
const broken = [];
let held = 0;

const print = (line) => void process.stdout.write(`${line}\n`);
const line = (mark, text) =>
  print(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${mark} ${text}`);

/** What the demo says; `check` remembers what did not hold. */
const report = {
  section: (title) => print(`\n${title}`),
  step: (text) => line('·', text),
  check: (text, holds) => {
    if (holds) held += 1;
    else broken.push(text);
    line(holds ? '✓' : '✗', text);
  },
};

/** Management with the credentials that `npm start` has made. @returns a call of `{base_url}`: method, path, body */
async function openManagement({ base_url, issuer_url, client_id, client_secret }) {
  const ask = async (url, init) => {
    const response = await fetch(url, init).catch((cause) => {
      throw new Error(`${new URL(url).origin} does not answer: start the service first, with npm start`, {
        cause,
      });
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method} ${url} → ${response.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  };
  const basic = Buffer.from(`${client_id}:${client_secret}`).toString('base64');
  const { access_token } = await ask(`${issuer_url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  return (method, path, body) =>
    ask(`${base_url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

function readCredentials() {
  const file = join(process.env.DATA_DIR || '.data', 'demo-tenant.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`${file} is not there: run npm start, and the demo once it says that it is ready`, {
      cause,
    });
  }
}

try {
  const tenant = readCredentials();
  report.section(`Tenant ${tenant.slug} at ${tenant.base_url}`);
  const manage = await openManagement(tenant);
  report.step('access token by client credentials');
  await showAgents({ tenant, manage, report });
  await showDeliveries({ manage, report });
  print(`\n${held} checks held, ${broken.length} did not.`);
  for (const text of broken) print(`  ✗ ${text}`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} catch (error) {
  print(`\n✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
