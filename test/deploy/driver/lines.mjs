// The lines of pages that operators copy: read from the page, and run in one shell as they stand there.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * @param {string} page a file
 * @param {string} words that the block has
 * @param {string} [language] of the block
 * @returns {string} the only block of the page with these words
 */
export function readBlock(page, words, language = 'sh') {
  const fences = readFileSync(page, 'utf8').matchAll(/^ *```(\S*)[^\n]*\n([\s\S]*?)^ *```$/gm);
  const found = [...fences].flatMap(([, kind, text]) =>
    kind === language && text.includes(words) ? [text] : [],
  );
  if (found.length !== 1) throw new Error(`${page} has ${found.length} blocks with ${JSON.stringify(words)}`);
  return found[0];
}

/** @returns {string} the lines of docs/fresh-host.md that restore, with those for a minute where they belong */
export const restoreToMinute = (page) =>
  readBlock(page, 'lost-$now').replace(
    /^docker compose up -d --wait postgres/m,
    (first) => readBlock(page, 'recovery.signal') + first,
  );

/** What a comment asks of a person: repeats such a line, at most ten times. */
export const persist = (block) =>
  block.replace(
    /^( *docker compose .*?) +# until it (?:finds nothing|ends with 0)$/gm,
    'for try in 1 2 3 4 5 6 7 8 9 last; do if $1; then break; fi; [ $try != last ]; sleep 3; done',
  );

/** @returns {string} what cron would run of a line of a crontab */
export const commandOf = (line) => line.trim().split(/\s+/).slice(5).join(' ');

/**
 * Runs lines in one bash, which ends at the first that fails.
 * @param {string} text
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, note?: (said: string) => void }} place
 * @returns {Promise<{ commands: { text: string, began: number, ended: number }[], said: string }>} each command that
 *   is not within a function, with its times
 */
export async function runLines(text, { cwd, env = process.env, note = () => undefined }) {
  const trap = `trap 'printf "%s %s\\n" "$EPOCHREALTIME" "\${BASH_COMMAND%%$'"'\\n'"'*}" >&3' DEBUG`;
  const child = spawn('bash', ['--norc', '-ec', `set -o pipefail\n${trap}\n${text}`], {
    ...{ cwd, env: { ...env, LC_NUMERIC: 'C' } },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  let said = '';
  let times = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
      note(chunk);
    });
  /** @type {import('node:stream').Readable} */ (child.stdio[3]).setEncoding('utf8').on('data', (chunk) => {
    times += chunk;
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code !== 0)
    throw new Error(`ended with ${code}: ${text.trim().split('\n')[0]} …\n${said.slice(-2_000)}`);
  const begun = times
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => ({
      text: line.slice(line.indexOf(' ') + 1),
      began: Math.floor(Number.parseFloat(line) * 1_000),
    }));
  const commands = begun.map((one, index) => ({ ...one, ended: begun[index + 1]?.began ?? Date.now() }));
  return { commands, said };
}
