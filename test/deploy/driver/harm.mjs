// Steps of the deployment driver that end a process under load, as a crash does.
import { setTimeout as sleep } from 'node:timers/promises';

/** @param {{ stack: any, watch: any, run: (text: string) => Promise<unknown> }} needs */
export function harmSteps({ stack, watch, run }) {
  /**
   * Harms the stack, waits until it has recovered and some seconds more.
   * @param {() => Promise<number>} work says when the harm was done
   * @param {() => Promise<unknown>} recover
   * @param {(times: { harmed: number, recovered: number }) => object} promise
   */
  async function harm(work, recover, promise) {
    const began = Date.now();
    const harmed = await work();
    await recover();
    const recovered = Date.now();
    await sleep(10_000);
    const more = `well again after ${((recovered - harmed) / 1_000).toFixed(1)} s; `;
    return watch.judge({ began, ended: Date.now() }, promise({ harmed, recovered }), more);
  }

  /** Ends every process of a container but the first: after `docker kill` the engine would not start it again. */
  async function crash(service) {
    const [id] = await stack.containers(service);
    const state = (name) => stack.run('docker', 'inspect', '--format', `{{.State.${name}}}`, id);
    const former = await state('StartedAt');
    await stack.run('docker', 'exec', id, 'bash', '-c', 'kill -9 -1').catch(() => undefined);
    while ((await state('StartedAt')) === former) await sleep(200);
    // On a busy machine the killed process still takes requests when the command above has ended.
    return Date.parse(await state('FinishedAt'));
  }

  /** Refused is only what the killed process had under way; an accepted event is delivered all the same. */
  const crashed = (service) => () =>
    harm(
      () => crash(service),
      () => stack.healthy(service, 2),
      ({ harmed }) => ({ refusesUntil: harmed, isPolite: true }),
    );

  async function restartPostgres() {
    await run('docker compose restart postgres');
    return Date.now();
  }

  return [
    ['an api is killed', crashed('api')],
    ['a worker is killed', crashed('worker')],
    [
      'Postgres is restarted',
      () =>
        harm(
          restartPostgres,
          () => stack.healthy('postgres', 1),
          ({ recovered }) => ({ refusesUntil: recovered + 5_000, isPolite: true }),
        ),
    ],
  ];
}
