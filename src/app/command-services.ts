// Opens the services of a command that works on the database, with settings from the environment or from the stack that
// runs in this folder.
import { type Config, loadConfig } from '../platform/config.ts';
import { withKeys } from './keys.ts';
import { findRunningStack } from './local/running-stack.ts';
import type { Environment } from './roles.ts';
import { refuseForeignMasterKey } from './start-checks.ts';

/** @throws ConfigError when a setting is wrong, or the master key does not fit the database */
export async function openServices<
  Services extends Parameters<typeof refuseForeignMasterKey>[0] & { close: () => Promise<void> },
>(env: Environment, compose: (config: Config) => Services): Promise<Services> {
  const services = await openUnchecked(env, compose);
  try {
    await refuseForeignMasterKey(services);
    return services;
  } catch (error) {
    await services.close();
    throw error;
  }
}

/** Like `openServices`, for commands that seal and open no secret, or check the master keys themselves. */
export async function openUnchecked<Services>(
  env: Environment,
  compose: (config: Config) => Services,
): Promise<Services> {
  const settings = await withKeys({ ...(await findRunningStack(env)), ...env }, 'command');
  return compose(loadConfig(settings, { role: 'command' }));
}
