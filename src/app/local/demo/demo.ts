// `npm run demo`: the main use case against the running service. Exits 0 only if every check passed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDataFolderHeld } from '../lock.ts';
import { authenticateAgents } from './agents.ts';
import { type Credentials, createApi } from './api.ts';
import { enrollAgent } from './enrollment.ts';
import { createReport } from './report.ts';
import { deliverEvents } from './webhooks.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);

async function readCredentials(): Promise<Credentials> {
  const folder = process.env.DATA_DIR || '.data';
  const file = join(folder, 'demo-tenant.json');
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Credentials;
  } catch {
    if (isDataFolderHeld(folder))
      throw new Error('The service is still starting: run the demo once npm start says that it is ready.');
    throw new Error(`${file} is not there: start the service first, with npm start`);
  }
}

async function run(): Promise<boolean> {
  const credentials = await readCredentials();
  const report = createReport(print);
  const api = createApi({ credentials, onWait: report.step });
  report.section(`Tenant ${credentials.slug} at ${credentials.base_url}`);
  await api.bearer();
  report.step('access token by client credentials');
  await authenticateAgents({ api, credentials, report });
  await enrollAgent({ api, credentials, report });
  await deliverEvents({ api, report });
  return report.finish();
}

try {
  process.exitCode = (await run()) ? 0 : 1;
} catch (error) {
  print(`\n✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
