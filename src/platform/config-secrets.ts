// Takes secrets from files: NAME_FILE is the path of the file with the value of NAME, for each setting with a secret.
import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { ConfigError, type Fault, readVariables } from './config.ts';
import { SECRET_VARIABLES } from './config-variables.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @param env variables by name; an empty string counts as not set
 * @returns the variables, each secret of a file under its own name in place of the name of the file
 * @throws ConfigError naming each file that gives no secret, and each other wrong variable
 */
export function readSecretFiles(env: Environment): Environment {
  const read: Record<string, string | undefined> = { ...env };
  const faults: Fault[] = [];
  for (const name of SECRET_VARIABLES) {
    const file = env[`${name}_FILE`];
    delete read[`${name}_FILE`];
    if (!file) continue;
    try {
      if (env[name]) faults.push([name, `is set, and ${name}_FILE too: keep one of them`]);
      else read[name] = readSecret(file);
    } catch (error) {
      faults.push([`${name}_FILE`, (error as Error).message]);
    }
  }
  const [first, ...others] = faults;
  if (first !== undefined) throw new ConfigError(...first, ...others, ...readVariables(read).wrong);
  return read;
}

/** @throws Error whose message has the path, unless that may be the secret itself, and never the content */
function readSecret(file: string): string {
  if (!isAbsolute(file)) throw new Error('must be an absolute path');
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const [reason] = (error as Error).message.split(', ');
    throw new Error(`${file} cannot be read: ${reason}`);
  }
  const secret = content.replace(/\r?\n$/, '');
  if (secret === '') throw new Error(`${file} is empty`);
  return secret;
}
