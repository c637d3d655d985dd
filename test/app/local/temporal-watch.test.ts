// A development server of Temporal that comes late, or whose database breaks: it comes back with its file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { startTemporal } from '../../../src/app/local/temporal.ts';
import { serverOf } from '../../../src/app/local/temporal-program.ts';
import { awaitTemporal } from '../../../src/app/local/temporal-ready.ts';
import { INTERRUPTED, untilBroken } from '../../../src/app/local/temporal-watch.ts';
import { createLazyConnection } from '../../../src/platform/temporal/client.ts';
import { takePort } from '../../setup/ports.ts';
import { createTcpProxy } from '../../setup/tcp-proxy.ts';
import { obtainTestTemporal } from '../../setup/temporal-program.ts';

const away = () => Promise.reject(new Error('deadline exceeded'));

it.each([
  ['answers', [true, true, true, true, true], INTERRUPTED, false],
  ['answers every third question', [false, false, true, false, false], INTERRUPTED, false],
  ['does not answer, and does not say why', [false, false, false, false, false], 'slow', false],
  [
    'does not answer three times in a row, because of interrupted statements',
    [true, false, false, false],
    INTERRUPTED,
    true,
  ],
])('a server that %s', async (_, answers, log, broken) => {
  const end = new AbortController();
  const left = [...answers];
  const ask = async () => {
    const isAnswered = left.shift();
    if (isAnswered === undefined) end.abort();
    if (!isAnswered) await away();
  };
  expect(await untilBroken({ ask, readLog: () => log, signal: end.signal, period: 1 })).toBe(broken);
});

it('is waited for, although nothing listened on its port for longer than a connection may take', async () => {
  const port = await takePort();
  const server = { address: `127.0.0.1:${port}`, namespace: inject('temporalNamespace') };
  // A connection gives up after two seconds.
  const proxy = sleep(2_500).then(() =>
    createTcpProxy(
      `tcp://${inject('temporalAddress')}`,
      (client, upstream) => client.pipe(upstream).pipe(client),
      { port },
    ),
  );
  expect(await awaitTemporal(server)).toBe('ok');
  await (await proxy).close();
});

it('starts again with its workflows when canceled requests have broken its database, and outlives them from 1.31 on', async () => {
  const program = await obtainTestTemporal();
  const outlives = ((await serverOf(program)) ?? '').localeCompare('1.31', 'en', { numeric: true }) > 0;
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-broken-'));
  const namespace = inject('temporalNamespace');
  const said: string[] = [];
  const server = await startTemporal({
    program,
    dataDir,
    port: await takePort(),
    uiPort: null,
    namespace,
    say: (line) => said.push(line),
    watchPeriod: 300,
  });
  const connection = createLazyConnection({ address: server.address, port: 0, variables: {} });
  const { workflow } = new Client({ connection, namespace });
  try {
    const { pid } = server;
    const kept = await workflow.start('nobody', { workflowId: 'kept', taskQueue: 'nobody' });
    const cancel = async (): Promise<void> => {
      // Each is canceled at another moment of its reading.
      for (let n = 0; outlives ? n < 1_000 : said.length === 0; n += 1)
        await connection
          .withDeadline(Date.now() + ((n * 0.7) % 12), () => kept.describe())
          .catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 12 }, cancel));
    await expect.poll(() => server.pid === pid).toBe(outlives);
    await expect
      .poll(() =>
        kept.describe().then(
          ({ status }) => status.name,
          () => 'away',
        ),
      )
      .toBe('RUNNING');
    expect(said).toEqual(outlives ? [] : [expect.stringContaining('started again')]);
  } finally {
    await connection.close();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
});
