// In tests time is a value: no case judges how fast the machine is. Reads the texts of all tests.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findCeilings, findImpatience, findNaps, findOwnLimits } from './unsteady.ts';

const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => `test/${name}`);

describe('the tests', () => {
  const found = (find: (text: string) => readonly string[], but: readonly string[] = []) =>
    tests.filter(
      (file) =>
        !but.includes(file) && file !== 'test/time.test.ts' && find(readFileSync(file, 'utf8')).length > 0,
    );

  it('judge no time that has passed: steps, ratios and fake timers hold on a busy machine too', () => {
    for (const ceiling of [
      'expect(Date.now() - began).toBeLessThan(2_000);',
      'const took = performance.now() - began;\nexpect(took).toBeLessThanOrEqual(SOON);',
      'return { ms: performance.now() - began };\nconst { ms } = await ask();\nexpect(ms).not.toBeGreaterThan(5);',
      'waits.push(performance.now() - start);\nexpect(Math.max(...waits)).toBeLessThan(4_000);',
      'expect(Math.abs(at - Date.now())).toBeLessThan(60_000);',
      'const { duration_ms: duration } = attempt;\nexpect(duration).toBeLessThan(20_000);',
      'expect(result.durationMs).toBeLessThan(withinMs);',
      'expect(Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6).toBeLessThan(15_000);',
    ])
      expect(findCeilings(ceiling), ceiling).toHaveLength(1);
    expect(findCeilings('expect(at).toBeLessThanOrEqual(Date.now());')).toEqual([]);
    expect(found(findCeilings)).toEqual([]);
  });

  it('read that nothing came, and do not sleep for it', () => {
    for (const nap of [
      'await sleep(500);\nexpect(received).toEqual([]);',
      'await new Promise((resolve) => setTimeout(resolve, 60));\n// By now.\nexpect(said).toHaveLength(1);',
      'await sleep(PROMISED);\nconst late = await read();\nexpect(late).toEqual([]);',
      "Promise.race([work, new Promise((resolve) => setTimeout(resolve, 200, 'waiting'))]);",
    ])
      expect(findNaps(nap), nap).toHaveLength(1);
    // A second after a revocation was answered a process knows of it or refuses, however slow the machine is.
    const promised = ['test/faults/issuer-keys.test.ts', 'test/faults/revocation.test.ts'];
    expect(found(findNaps, promised)).toEqual([]);
  });

  it('wait with one patience, which a busy machine does not reach', () => {
    for (const wait of [
      'await vi.waitFor(() => expect(lines).toHaveLength(2));',
      'await vi.waitUntil(() => isReady(1), { timeout: 20_000, interval: 5 });',
      'await vi.waitUntil(isReady, 25_000);',
      'await expect.poll(readiness, { timeout: 5_000 }).toBe(200);',
      "await eventually(() => isReady(), 'a process', 20_000);",
      'for (const deadline = Date.now() + 30_000; !isReady(); await sleep(10)) if (Date.now() > deadline) throw late;',
    ])
      expect(findImpatience(wait), wait).toHaveLength(1);
    for (const wait of [
      'await vi.waitFor(() => expect(lines).toHaveLength(2), PATIENCE);',
      "await eventually(() => count() === 20, 'all of them');",
      'await expect.poll(() => of(1, 20), { interval: 200 }).toBe(1);',
    ])
      expect(findImpatience(wait), wait).toEqual([]);
    expect(found(findImpatience)).toEqual([]);
  });

  it('give no case and no program a limit of its own: one ends what hangs, and no busy machine reaches it', () => {
    for (const limit of [
      "it('is decided', { timeout: 60_000 }, async () => {",
      "it('is decided', async () => {\n  await decide();\n}, 120_000);",
      'spawnSync(process.execPath, [], { timeout: 20_000 });',
    ])
      expect(findOwnLimits(limit), limit).toHaveLength(1);
    expect(findOwnLimits('spawnSync(process.execPath, [], { timeout: HANG });')).toEqual([]);
    expect(found(findOwnLimits, ['test/setup/patience.ts'])).toEqual([]);
  });

  it('take ports that nobody else can get', () => {
    const own = ['test/app/local/ports.test.ts', 'test/setup/temporal.ts'];
    expect(found((text) => text.match(/findFreePort/g) ?? [], own)).toEqual([]);
  });
});
