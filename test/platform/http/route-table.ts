// All routes of the service, without its services: every `create…Routes` of the source, called with stand-ins that are
// never used.
import { readdirSync } from 'node:fs';
import type { Route } from '../../../src/platform/http/route.ts';

export async function loadAllRoutes(): Promise<Route[]> {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.routes.ts'))
    .sort();
  const modules = await Promise.all(
    files.map(
      (file) => import(/* @vite-ignore */ `../../../src/${file}`) as Promise<Record<string, unknown>>,
    ),
  );
  return modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, create]) =>
      typeof create === 'function' && /^create\w+Routes$/.test(name) ? (create(standIn()) as Route[]) : [],
    ),
  );
}

/** Gives something for every dependency that a factory may name. */
function standIn(): unknown {
  return new Proxy(() => undefined, { get: (_target, name) => (name === 'then' ? undefined : standIn()) });
}
