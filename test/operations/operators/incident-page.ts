// Reads the commands out of a page of docs/operations, and runs them as they stand there, by a shell, with the page's
// examples replaced.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { HANG } from '../../setup/patience.ts';

/** A line of a shell block, and the heading that it stands under. */
export type PageCommand = { readonly heading: string; readonly line: string };

/**
 * Every command of a page, in order; comments and the alias of Temporal's command left out. A line that is indented
 * below its block goes on with the command before it.
 */
export function readCommands(file: string): PageCommand[] {
  const commands: PageCommand[] = [];
  let heading = '';
  let block: number | undefined;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const text = line.trim();
    const indent = line.search(/\S/);
    const last = commands.at(-1);
    if (text.startsWith('```')) block = block === undefined && text === '```sh' ? indent : undefined;
    else if (block === undefined) heading = line.startsWith('#') ? line.replace(/^#+ /, '') : heading;
    else if (indent > block && last !== undefined)
      commands.splice(-1, 1, { ...last, line: `${last.line}\n${text}` });
    else if (text !== '' && !text.startsWith('#') && !text.startsWith('alias '))
      commands.push({ heading, line: text });
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
      execFile('bash', ['-ec', script], { env, timeout: HANG }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else
          reject(
            Object.assign(new Error(`${line}\n${stderr}${stdout}`), { code: error.code, output: stdout }),
          );
      });
    });
}
