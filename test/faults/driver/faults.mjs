// Carries out faults, each on its part of the stack, and heals them.
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './ledger.mjs';

/** Bytes after which Postgres can write no file further: what a full disk is to it, without a disk that is full. */
const FULL_AT = 65_536;

export function createFaults({ stack, links, ledger, random, say }) {
  const { roles, postgres, temporal } = stack;
  /** One fault at a time on a part; a second one is left out, and counted as such. */
  const taken = new Set();
  const groups = { workers: ['worker1', 'worker2'], apis: ['api1', 'api2'] };
  const rolesOf = (target) => (groups[target] ?? [target]).map((name) => roles[name]).filter(Boolean);
  const signal = (pids, name) => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  const crash = () => ledger.crashes.push(now());

  const killPostgres = async () => {
    crash();
    await postgres.kill();
    return async () => postgres.start();
  };
  const killTemporal = async (between = async () => undefined) => {
    await temporal.kill();
    await between();
    return () => temporal.start();
  };

  /** Each begins a fault, and returns what heals it. */
  const begin = {
    kill: async ({ target }) => {
      if (target === 'postgres') return killPostgres();
      if (target === 'temporal') return killTemporal();
      if (target === 'backend') {
        const [, ...children] = postgres.pids();
        crash();
        signal([random.pick(children)], 'SIGKILL');
        return async () => undefined;
      }
      await Promise.all(rolesOf(target).map((role) => role.kill()));
      return async () => rolesOf(target).map((role) => role.start());
    },
    restart: async ({ target }) => {
      await roles[target].stop();
      return async () => roles[target].start();
    },
    freeze: async ({ target }) => {
      if (roles[target] !== undefined) {
        roles[target].freeze();
        return async () => roles[target].thaw();
      }
      const pids = target === 'postgres' ? postgres.pids() : temporal.pids();
      signal(pids, 'SIGSTOP');
      return async () => signal([...pids].reverse(), 'SIGCONT');
    },
    cut: async ({ target }) => {
      links[target].cut();
      return async () => undefined;
    },
    refuse: async ({ target }) => {
      links[target].refuse(true);
      links[target].cut();
      return async () => links[target].refuse(false);
    },
    stall: async ({ target }) => {
      links[target].stall(true);
      return async () => links[target].stall(false);
    },
    delay: async ({ target }) => {
      links[target].delay(150);
      return async () => links[target].delay(0);
    },
    'half-close': async ({ target, side }) => {
      links[target].endHalf(side);
      return async () => undefined;
    },
    terminate: async () => {
      await stack.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      );
      return async () => undefined;
    },
    'disk-full': async () => {
      const limit = (size) => {
        for (const pid of postgres.pids())
          execFileSync('prlimit', ['--pid', String(pid), `--fsize=${size}:`], { stdio: 'ignore' });
      };
      crash();
      limit(FULL_AT);
      return async () => {
        if (postgres.isUp()) limit('unlimited');
        crash();
        // Without its log Postgres ends itself, and its supervisor starts it again.
        await sleep(500);
        if (!postgres.isUp()) await postgres.start();
      };
    },
    clock: async ({ target, shift }) => {
      roles[target].setClock(shift);
      return async () => roles[target].setClock(0);
    },
    'lose-temporal': async () => {
      const heal = await killTemporal(temporal.lose);
      return async () => {
        await heal();
        await stack.run('doctor', '--fix');
      };
    },
  };

  /** The part that a fault takes out: of a link the link alone. */
  const partsOf = ({ target }) => groups[target] ?? [target === 'backend' ? 'postgres' : target];

  const carryOut = async (fault) => {
    const parts = partsOf(fault);
    if (parts.some((part) => taken.has(part))) return void ledger.faults.push({ ...fault, skipped: true });
    for (const part of parts) taken.add(part);
    const own = { ...fault, from: now(), to: undefined };
    ledger.faults.push(own);
    say(`${fault.kind} ${fault.target}, ${fault.seconds} s`);
    try {
      const heal = await begin[fault.kind](fault);
      await sleep(fault.seconds * 1_000);
      await heal();
    } catch (error) {
      own.failed = String(error);
      say(`${fault.kind} ${fault.target} could not be carried out: ${error}`);
    } finally {
      own.to = now();
      for (const part of parts) taken.delete(part);
    }
  };

  return {
    /** Carries out a schedule. @returns ends when all of it is healed, and everything runs */
    run: async (schedule) => {
      const began = now();
      const under = [];
      for (const fault of schedule) {
        await sleep(Math.max(0, began + fault.at * 1_000 - now()));
        under.push(carryOut(fault));
      }
      await Promise.all(under);
      if (!postgres.isUp()) await postgres.start();
      if (!temporal.isUp()) await temporal.start();
      for (const role of Object.values(roles)) {
        role.thaw();
        role.start();
      }
    },
  };
}
