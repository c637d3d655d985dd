// A server in Python for the time of a test.
import { eventually } from '../workflows/delivery-engine.ts';
import { startPython } from './python.ts';

/**
 * Starts a receiver, and ends it after `work`, which begins with its first answer.
 * @param url where it listens: it answers 405 to a GET there
 * @returns its output
 */
export async function whileServing(
  url: string,
  [python, words, env]: Parameters<typeof startPython>,
  work: () => Promise<void>,
): Promise<string> {
  const child = startPython(python, words, env);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const gone = new Promise((resolve) => child.once('close', resolve));
  try {
    const isUp = () =>
      fetch(url).then(
        ({ status }) => status === 405,
        () => false,
      );
    await eventually(isUp, `an answer of ${url}`);
    await work();
  } finally {
    child.kill();
    await gone;
  }
  return said;
}
