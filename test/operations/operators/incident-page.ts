// Reads the commands out of a page of docs/operations, and runs them as they stand there, by a shell, with the page's examples replaced.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A line of a shell block, and the heading that it stands under. */
export type PageCommand = { readonly heading: string; readonly line: string };

/** Every command of a page, in order; comments and the alias of Temporal's command left out. */
export function readCommands(file: string): PageCommand[] {
  const commands: PageCommand[] = [];
  let heading = '';
  let inBlock = false;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const text = line.trim();
    if (text.startsWith('```')) inBlock = !inBlock && text === '```sh';
    else if (inBlock && text !== '' && !text.startsWith('#') && !text.startsWith('alias '))
      commands.push({ heading, line: text });
    else if (!inBlock && line.startsWith('#')) heading = line.replace(/^#+ /, '');
  }
  return commands;
}

/** How a command that fails is told. */
export type Refused = Error & { readonly code: number; readonly output: string };

/**
 * @param programs what `t` and `countersign` are: words of a shell
 * @param env of the commands
 * @returns runs one line, and gives what it wrote; rejects with Refused when it fails
 */
export function createShell(
  programs: Readonly<Record<'t' | 'countersign', string>>,
  env: Readonly<Record<string, string>>,
): (line: string) => Promise<string> {
  const definitions = Object.entries(programs).map(([name, words]) => `${name}() { ${words} "$@"; }`);
  return (line) =>
    new Promise((resolve, reject) => {
      const script = [...definitions, line].join('\n');
      execFile('bash', ['-ec', script], { env, timeout: 60_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else
          reject(
            Object.assign(new Error(`${line}\n${stderr}${stdout}`), { code: error.code, output: stdout }),
          );
      });
    });
}
