// Holds every page of the documentation: each shell block is run by a test or says why not.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/app/command-line.ts';
import { COMMANDS } from '../../src/app/commands.ts';
import type { TerminalRuntime } from '../../src/app/terminal/runtime.ts';
import { listPages, readBlocks } from './pages.ts';
import { ELSEWHERE, isOperationsPage, WALKED } from './walked-pages.ts';

const pages = listPages();
const blocks = pages.flatMap((page) => readBlocks(page).map((text) => ({ page, text })));
const elsewhere = ({ page, text }: { page: string; text: string }) =>
  ELSEWHERE.filter(([ofPage, words]) => ofPage === page && text.includes(words));

describe('the shell blocks of the documentation', () => {
  it('are each run by a test, or are listed with the reason why not', () => {
    const open = blocks.filter(({ page, text }) => {
      const others = elsewhere({ page, text }).length;
      if (isOperationsPage(page) && /^ *t |^alias t=/m.test(text)) return others > 1;
      return WALKED.includes(page) ? others > 1 : others !== 1;
    });
    expect(open).toEqual([]);
  });

  it('have no entry in the list that is out of date', () => {
    for (const [page, words, why] of ELSEWHERE) {
      const described = blocks.filter((block) => block.page === page && block.text.includes(words));
      expect(described.length, `${page}: ${words}`).toBeGreaterThan(0);
      for (const [file] of why.matchAll(/\b(?:test|\.ci)\/[\w./-]*\w/g))
        expect(existsSync(file), file).toBe(true);
    }
    for (const page of WALKED) expect(readBlocks(page).length, page).toBeGreaterThan(0);
  });

  it('name commands and options that the command line has', async () => {
    const runtime: TerminalRuntime = {
      env: {},
      print: () => undefined,
      tell: () => undefined,
      fail: () => undefined,
      interrupted: () => new AbortController().signal,
      readInput: async () => Buffer.alloc(0),
    };
    const program = createProgram(runtime);
    for (const { name, fill } of COMMANDS) {
      const command = program.commands.find((one) => one.name() === name);
      if (command !== undefined) await fill(command, runtime);
    }
    const lines = blocks.flatMap(({ page, text }) =>
      [...text.matchAll(/(?<![\w@/.-])countersign ((?:[a-z][a-z-]* ?)+)([^#|\n]*)/g)].map(
        ([line, words = '', rest = '']) => ({ line: `${page}: ${line}`, words, options: `${words}${rest}` }),
      ),
    );
    expect(lines.length).toBeGreaterThan(30);
    for (const { line, words, options } of lines) {
      let command: Command = program;
      for (const word of words.trim().split(' ')) {
        if (command.commands.length === 0) break;
        const next = command.commands.find((one) => one.name() === word);
        expect(next, line).toBeDefined();
        command = next ?? command;
      }
      const known = [...command.options, ...program.options].map(({ long }) => long);
      for (const [option] of options.matchAll(/--[a-z-]+/g))
        expect([...known, '--help'], line).toContain(option);
    }
  });

  it('name scripts of npm that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = blocks.flatMap(({ text }) =>
      [...text.matchAll(/npm run (?:-\S+ )*([\w:]+)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => scripts[name ?? ''] === undefined)).toEqual([]);
  });
});

it('links lead to a file of the repository, and to a heading that is there', () => {
  const slug = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
  const slugsOf = (page: string) =>
    [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slug(heading));
  const links = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(
      ([, path = '', anchor]) => ({ page, to: path === '' ? page : join(dirname(page), path), anchor }),
    ),
  );
  expect(links.length).toBeGreaterThan(200);
  const broken = links.filter(
    ({ to, anchor }) =>
      !existsSync(to) || (anchor !== undefined && to.endsWith('.md') && !slugsOf(to).includes(anchor)),
  );
  expect(broken).toEqual([]);
});
