// A stack whose parts can be killed: a Temporal server with its file, and `countersign worker` processes that stop at
// the steps a test names. The api is this process. Ends only what it has started, by its id.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createKeeper } from '../../src/app/local/keeper.ts';
import { startTemporal } from '../../src/app/local/temporal.ts';
import { loadConfig } from '../../src/platform/config.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { buildStack } from '../app/local/stack.ts';
import { createAccounts } from '../authentication/tokens/accounts.ts';
import { createRooms, createTestTenant } from '../identity/agents/agent-rooms.ts';
import { AUDIT_KEY, createTestDatabase } from '../setup/database.ts';
import { takePort } from '../setup/ports.ts';
import { obtainTestTemporal } from '../setup/temporal-program.ts';

const STEPPING = new URL('./stepping.mjs', import.meta.url).href;
const NAMESPACE = 'countersign';

/** A step that a worker takes for a workflow; `stopped`: it goes no further in this. */
type Step = { readonly workflowId: string; readonly step: string; readonly stopped: boolean };

export type KillableStack = Awaited<ReturnType<typeof createKillableStack>>;
export type KillableWorker = Awaited<ReturnType<KillableStack['startWorker']>>;

export async function createKillableStack() {
  const main = join(await buildStack(), 'src/main.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-kills-'));
  chmodSync(dataDir, 0o755);
  const keeper = createKeeper({ file: join(dataDir, 'parts.json'), remove: [dataDir] });
  const { database, serviceUrl: url, drop } = await createTestDatabase();
  const program = await obtainTestTemporal();
  const port = await takePort();
  const start = () =>
    startTemporal({ program, dataDir, port, uiPort: null, namespace: NAMESPACE, inMemory: false, keeper });
  let temporal = await start();
  const environment = {
    PATH: process.env.PATH ?? '',
    DATABASE_URL: url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    METRICS_PORT: '0',
    PUBLIC_URL: 'http://localhost:8080',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    AUDIT_KEY,
    DATA_DIR: '/dev/null/unused',
    LOG_LEVEL: 'fatal',
  };
  const { masterKeys } = loadConfig(environment, { role: 'worker' });
  const accounts = createAccounts(database, { masterKeys: [...masterKeys] });
  const rooms = createRooms(database, { accounts });
  // Nobody follows a switch in the api, as if that had died there: the workflow has to.
  const cut = { ...database, transaction: () => Promise.reject(new Error('the api is gone')) };
  const { challenges } = createRooms(cut, { accounts });
  const context = await createTestTenant(rooms);
  await database.query('UPDATE endpoints SET active = false');
  await database.query("UPDATE subscriptions SET filters = '{admin.*}', event_types = '{admin.*}'");
  const connection = Connection.lazy({ address: temporal.address });
  const client = new Client({ connection, namespace: NAMESPACE });
  const workers = new Set<ChildProcess>();
  const keys = createKeyWatch(database);

  return {
    rooms: { ...rooms, challenges },
    database,
    context,
    client,
    keys,

    /** Starts a worker, and waits until it works. @param plan workflow ids with the steps at which it stops */
    startWorker: async (plan: readonly (readonly [workflowId: string, step: string])[] = []) => {
      const child = spawn(process.execPath, ['--import', STEPPING, main, 'worker'], {
        env: environment,
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      workers.add(child);
      const exited = once(child, 'exit').then(() => workers.delete(child));
      const steps: Step[] = [];
      const ready = new Promise<void>((resolveReady, reject) => {
        child.on('message', (message: Step | { ready: true } | { failed: string }) => {
          if ('step' in message) steps.push(message);
          else if ('ready' in message) resolveReady();
          else reject(new Error(message.failed));
        });
        child.once('exit', (code, signal) => reject(new Error(`a worker ended with ${code ?? signal}`)));
      });
      child.send({ plan });
      await ready;
      return {
        steps,
        plan: (more: typeof plan) => child.send({ plan: more }),
        /** Lets it go on wherever it has stopped. */
        resume: () => child.send({ resume: true }),
        isAlive: () => child.exitCode === null && child.signalCode === null,
        kill: async () => {
          child.kill('SIGKILL');
          await exited;
        },
        stop: async () => {
          child.kill('SIGTERM');
          await exited;
        },
      };
    },

    killTemporal: async () => {
      process.kill(temporal.pid, 'SIGKILL');
      await temporal.exited;
    },

    /** With the file that the killed one has left. */
    restartTemporal: async () => {
      temporal = await start();
    },

    /** As if the leases of a runner that died had run out. */
    endLeases: () => database.query('UPDATE workflow_commands SET claimable_at = now()'),

    close: async () => {
      for (const child of workers) {
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }
      await keys.stop();
      await connection.close();
      await temporal.stop();
      await keeper.close();
      await drop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** How keys stand: one reading for all that wait for one. */
function createKeyWatch(database: Database) {
  type Standing = { state: string; rotation: string | null; stalled: boolean };
  let standings = new Map<string, Standing>();
  let isStopped = false;
  const read = async () => {
    const { rows } = await database.query<Standing & { id: string }>(
      `SELECT k.id, k.state, r.state AS rotation, r.stalled_at IS NOT NULL AS stalled
       FROM agent_keys k LEFT JOIN key_rotations r ON r.old_key_id = k.id`,
    );
    standings = new Map(rows.map((row) => [row.id, row]));
  };
  const look = async () => {
    // A database that has too much to do is asked again.
    for (; !isStopped; await sleep(100)) await read().catch(() => undefined);
  };
  const looking = look();
  return {
    /** Waits until the key stands like this. */
    until: async (id: string, holds: (standing: Standing) => boolean): Promise<void> => {
      for (;;) {
        const standing = standings.get(id);
        if (standing !== undefined && holds(standing)) return;
        await sleep(50);
      }
    },
    stop: async () => {
      isStopped = true;
      await looking;
    },
  };
}
