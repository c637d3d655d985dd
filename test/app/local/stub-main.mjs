// Stands in for the command line: the real supervisor around roles that do nothing but tell what happens to them.
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const built = pathToFileURL(`${process.env.STUB_BUILD}/`);
const load = (file) => import(new URL(file, built).href);
const note = (text) => appendFileSync(process.env.STUB_JOURNAL, `${text}\n`);
const role = process.argv[2];

/** What the migration does for the role of api and worker, without any table; it may make one of its own. */
async function makeRole(url, { name, password }) {
  const { newClient } = await load('src/platform/database/client.js');
  const client = newClient({ connectionString: url });
  await client.connect();
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
  if (rowCount === 0) await client.query(`CREATE ROLE ${name}`);
  await client.query(`ALTER ROLE ${name} LOGIN PASSWORD '${password}'`);
  await client.query(`GRANT CREATE ON SCHEMA public TO ${name}`);
  await client.end();
}

if (role === 'start') {
  const { loadConfig } = await load('src/platform/config.js');
  const { runLocalStack } = await load('src/app/local/start.js');
  const stack = runLocalStack({
    config: loadConfig(process.env, { role: 'start' }),
    main: fileURLToPath(import.meta.url),
    environment: process.env,
    migrate: async ({ url, service }) => {
      note('migrate');
      if (service !== undefined) await makeRole(url, service);
    },
    prepare: async () => {
      note('prepare');
      return { lines: [], consoleLink: 'http://127.0.0.1/console#code=stub' };
    },
    say: (line) => process.stdout.write(`${line}\n`),
  });
  await stack.catch((error) => {
    process.stdout.write(`${error.name === 'LocalStackError' ? error.message : error.stack}\n`);
    process.exitCode = 1;
  });
} else {
  const { announceFailure, announceReady, onStop } = await load('src/platform/process/part-protocol.js');
  const { createHttpServer } = await load('src/platform/http/server.js');
  const answer = (request, response) => {
    const wait = request.url === '/slow' ? 1_500 : 0;
    if (wait > 0) note('slow request');
    const { env, execArgv, pid } = process;
    const said = request.url === '/process' ? JSON.stringify({ env, execArgv }) : String(pid);
    setTimeout(() => response.end(said), wait);
  };
  const http = createHttpServer({ callback: () => answer }, { errorTypeBase: 'about:blank' });
  const port = role === 'api' ? process.env.PORT : process.env.METRICS_PORT;
  try {
    await http.listen({ host: '127.0.0.1', port: Number(port) });
    onStop(async (reason) => {
      note(`${role} stops: ${reason}`);
      // A test keeps the worker from its end for as long as this file is there.
      while (role === 'worker' && existsSync(`${process.env.STUB_JOURNAL}.hold`)) await sleep(50);
      await http.drain(5_000);
      note(`${role} stopped`);
    });
    announceReady();
    note(`${role} up`);
  } catch (error) {
    announceFailure(error);
    process.exitCode = 1;
    process.disconnect?.();
  }
}
