// Runs the README by hand, as it stands there, against real processes of api and worker: an event of one's own arrives.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { prepareRuns } from '../app/roles/role-runs.ts';
import { installPackage } from '../packages/packed-package.ts';
import { takePort } from '../setup/ports.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { readBlocks } from './pages.ts';
import { canRun, runScript, scriptOf } from './walk.ts';

/**
 * Takes the place of `sleep` in the README: waits for what it waits for, however fast the machine is. `curl` asks
 * again where the service has too much to do, as a person does who reads that in the answer.
 */
const PATIENT = `
sleep() {
  until test -z "$RECEIVER" || curl -s -o /dev/null "$RECEIVER"; do command sleep 0.1; done
  until manage "$BASE/api/v1/deliveries" | node -e 'process.exit(JSON.parse(fs.readFileSync(0)).data
    .every((one) => one.status === "delivered" || one.workflow_url !== null) ? 0 : 1)'
  do command sleep 0.1; done
}
curl() {
  local head body
  head=$(mktemp)
  while body=$(command curl -D "$head" "$@") || return; grep -q '^HTTP/1.1 503' "$head"; do command sleep 1; done
  printf '%s\\n' "$body"
}
kill() { RECEIVER=; command kill "$@"; wait "$@" || true; }
trap 'command kill $(jobs -p) 2> /dev/null || true' EXIT
`;

/** The service on a port of its own, with a tenant. */
async function startService() {
  const { run, close } = await prepareRuns();
  const [port, metrics] = [String(await takePort()), String(await takePort())];
  const variables = {
    PORT: port,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    TEMPORAL_UI_URL: 'http://localhost:8233',
  };
  const made = run(['tenant', 'create', 'walker', '--json'], variables);
  expect(await made.exited, made.output.stderr).toBe(0);
  const parts = [run(['api'], variables), run(['worker'], { ...variables, METRICS_PORT: metrics })];
  // Also when one of them never becomes ready.
  onTestFinished(async () => {
    for (const { child, exited } of parts) {
      child.kill('SIGTERM');
      await exited;
    }
    await close();
  });
  for (const at of [port, metrics]) {
    const isReady = () =>
      fetch(`http://127.0.0.1:${at}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually(isReady, `a process to be ready on ${at}`);
  }
  // The tenant has the address of the settings; the api listens elsewhere.
  return { credentials: made.output.stdout.replaceAll('localhost:8080', `localhost:${port}`) };
}

describe.skipIf(!canRun)('the README', () => {
  it('ends with an event of one’s own that arrives, and with the history of one that does not', async () => {
    const consumer = await installPackage('receiver');
    const { credentials } = await startService();
    try {
      await mkdir(join(consumer.folder, '.data'));
      await writeFile(join(consumer.folder, '.data/demo-tenant.json'), credentials);
      const port = String(await takePort());
      const at = (text: string) => text.replaceAll('9000', port);
      const [receiver = ''] = readBlocks('README.md', 'js');
      await writeFile(join(consumer.folder, 'receiver.mjs'), at(receiver));
      const lines = await runScript(`${PATIENT}${at(scriptOf('README.md'))}`, {
        cwd: consumer.folder,
        env: { RECEIVER: `http://127.0.0.1:${port}/` },
      });
      expect(lines.sort()).toEqual([
        'arrived: orders.order.placed { order: 2 }',
        expect.stringMatching(/^http:\/\/\S+\/workflows\/delivery%2F[\w-]+$/),
        expect.stringMatching(/^\{"event_id":"[\w-]+","deliveries":1\}$/),
      ]);
    } finally {
      await consumer.close();
    }
  });
});
