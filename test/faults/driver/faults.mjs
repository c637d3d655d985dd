// Carries out faults, each on its part of the stack, and heals them.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './ledger.mjs';
import { partsOf } from './schedule.mjs';

/** Bytes after which Postgres can write no file further: what a full disk is to it, without a disk that is full. */
const FULL_AT = 65_536;

export function createFaults({ stack, links, ledger, random, say }) {
  const { roles, postgres, temporal, upgrades } = stack;
  /** On a slow machine a fault can last longer than planned: another one on its part is then left out. */
  const taken = new Set();
  const rolesOf = (target) =>
    partsOf(target)
      .map((name) => roles[name])
      .filter(Boolean);
  const signal = (pids, name) => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  const answersWithin = async (milliseconds) => {
    for (const end = now() + milliseconds; now() < end; await sleep(200))
      if (
        await stack.query('SELECT 1').then(
          () => true,
          () => false,
        )
      )
        return true;
    return false;
  };
  /** @returns the crash, for one that goes on until its `to` is moved */
  const crash = () => {
    const at = now();
    return ledger.crashes[ledger.crashes.push({ from: at, to: at }) - 1];
  };

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
      const [main] = postgres.pids();
      // In the name of the user of Postgres, which may limit itself.
      const { uid, gid } = statSync(`/proc/${main}`);
      const limit = (size) => {
        for (const pid of postgres.pids())
          spawnSync('prlimit', ['--pid', String(pid), `--fsize=${size}:`], { uid, gid, stdio: 'ignore' });
      };
      const full = crash();
      full.to = Number.POSITIVE_INFINITY;
      limit(FULL_AT);
      return async () => {
        if (postgres.isUp()) limit('unlimited');
        full.to = now() + 500;
        // A Postgres that could not recover has ended, or answers nothing any more: its supervisor starts it again.
        if (await answersWithin(5_000)) return;
        if (postgres.isUp()) await postgres.kill();
        await postgres.start();
      };
    },
    clock: async ({ target, shift }) => {
      roles[target].setClock(shift);
      return async () => roles[target].setClock(0);
    },
    hold: async () => {
      const held = await stack.run('operator', 'host', 'hold', '127.0.0.1', '--reason', 'a fault run');
      const hold = { from: now(), to: undefined };
      if (held.code === 0) ledger.holds.push(hold);
      return async () => {
        hold.to = now();
        while (
          (await stack.run('operator', 'host', 'release', '127.0.0.1', '--reason', 'a fault run')).code !== 0
        )
          await sleep(500);
      };
    },
    promote: async ({ target }, own) => {
      await postgres.addStandby();
      return async () => {
        own.began = now();
        // What did not wait for the disk did not wait for the standby.
        const lost = crash();
        lost.to = Number.POSITIVE_INFINITY;
        own.promoted = await postgres.failOver(target);
        lost.to = now() + 500;
      };
    },
    upgrade: async ({ seconds }, own) => {
      const begun = await upgrades.begin();
      return async () => {
        own.upgrade = await upgrades.finish(begun, seconds);
      };
    },
    'lose-temporal': async () => {
      const heal = await killTemporal(temporal.lose);
      return async () => {
        await heal();
        await upgrades.keepCurrent();
        await stack.run('doctor', '--fix');
      };
    },
  };

  const carryOut = async (fault) => {
    const parts = partsOf(fault.target);
    if (parts.some((part) => taken.has(part))) return void ledger.faults.push({ ...fault, skipped: true });
    for (const part of parts) taken.add(part);
    const own = { ...fault, from: now(), to: undefined };
    ledger.faults.push(own);
    say(`${fault.kind} ${fault.target}, ${fault.seconds} s`);
    try {
      const heal = await begin[fault.kind](fault, own);
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
