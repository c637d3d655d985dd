// The programs of a page of the documentation, in a folder that has the packed package, and started there.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../../setup/patience.ts';
import { takePort } from '../../setup/ports.ts';
import { installPackage } from '../packed-package.ts';
import { SECRET } from './delivery-request.ts';

/** Writes the programs of a page under their names. @param linked packages of our node_modules that they import */
export async function installPrograms(page: string, linked: readonly string[]) {
  const { folder, close } = await installPackage('receiver', { linked });
  const fences = (await readFile(page, 'utf8')).matchAll(/^```(\S+)(?: (\S+))?\n([\s\S]*?)^```$/gm);
  const programs = new Map([...fences].map(([, , name = '', text = '']) => [name, text]));
  for (const [name, text] of programs) await writeFile(join(folder, name), text);
  return { folder, programs, close };
}

/**
 * Starts a program that listens on PORT.
 * @param file or its path with arguments
 * @param isUp whether the answer to a GET says that the receiver is there
 */
export async function startProgram(
  folder: string,
  file: string | readonly string[],
  variables: Readonly<Record<string, string>> = {},
  isUp: (status: number) => boolean = (status) => status === 405,
) {
  const port = await takePort();
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRETS: `whsec_old,${SECRET}`, ...variables };
  const child: ChildProcess = spawn(process.execPath, [file].flat(), { cwd: folder, env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const url = `http://127.0.0.1:${env.PORT}/hooks`;
  for (const deadline = Date.now() + PATIENCE.timeout; ; await sleep(50)) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined && isUp(answer.status)) break;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${file} does not answer: ${said}`);
  }
  const close = async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill()) await gone;
  };
  return { url, said: () => said, close };
}
