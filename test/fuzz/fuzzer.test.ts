// The parts of the fuzzer: instrumented code does what it did before, and a planted fault is found by its branches.
import { describe, expect, it } from 'vitest';
import { instrument } from './branches.ts';
import { createDice, mutate } from './mutations.ts';

/** Instruments the text of a function. @returns it, its counters and what it has compared */
function load<Result>(text: string) {
  let numbers = 0;
  const code = instrument(`const run = ${text};`, () => numbers++);
  const counts = new Uint8Array(numbers);
  const compared: [string, string][] = [];
  const same = (left: unknown, right: unknown) => {
    if (left !== right) compared.push([String(left), String(right)]);
    return left === right;
  };
  const make = new Function('__trace', `${code} return run;`) as (trace: object) => (input: string) => Result;
  return { run: make({ counts, same }), counts, compared };
}

const PLANTED = `(input) => {
  if (input[0] !== '#') return 0;
  if (input[1] === '7') { if (input[2] === '!') throw new Error('found'); }
  return input.length;
}`;

describe('instrumented code', () => {
  it.each([
    ['(input) => (input === "a" === true ? (input) === ("a") : input !== "b" || "c")', ['a', 'b', 'c']],
    [
      '(input, last = input.at(-1) ?? "none") => { if (last === "a") return 1; else if (last !== "b") return 2; else return 3 }',
      ['', 'a', 'b'],
    ],
    [
      '(input) => { switch (input) { case "a": case "b": return 1; default: { let n = 0; for (const _ of input) n += 1; return n; } } }',
      ['a', 'b', 'ccc'],
    ],
    [
      '(input) => { let n = 0; while (n < input.length) n++; try { if (n === 2) throw 0 } catch { return "two" } return { n, f: () => ({ n }) }.f() }',
      ['a', 'bb'],
    ],
    ['(input) => typeof input === "string" && (input === "a" ? input + "!" : input)', ['a', 'b']],
  ])('does what it did: %s', (text, inputs) => {
    const plain = new Function(`return ${text};`)() as (input: string) => unknown;
    const { run, counts } = load(text);
    for (const input of inputs) expect(run(input)).toEqual(plain(input));
    expect(Math.max(...counts)).toBeGreaterThan(0);
  });

  it('leads to a planted fault within few inputs', () => {
    const { run, counts, compared } = load(PLANTED);
    const dice = createDice(1);
    const corpus: Uint8Array[] = [Buffer.from('abc')];
    const reached = new Set<number>();
    const isFound = () => {
      const input = mutate(corpus[dice(corpus.length)] ?? Buffer.of(), dice, corpus, compared.slice(-50));
      counts.fill(0);
      try {
        run(Buffer.from(input).toString('latin1'));
      } catch {
        return true;
      }
      const fresh = [...counts.keys()].filter((branch) => counts[branch] !== 0 && !reached.has(branch));
      for (const branch of fresh) reached.add(branch);
      if (fresh.length > 0) corpus.push(input);
      return false;
    };
    let executions = 1;
    while (!isFound() && executions < 20_000) executions += 1;
    expect(executions).toBeLessThan(20_000);
  });

  it('makes the same inputs of a seed again', () => {
    const make = () =>
      Array.from({ length: 50 }, (_, seed) => mutate(Buffer.from('input'), createDice(seed), [], []));
    expect(make()).toEqual(make());
  });
});
