// The start role: everything on this machine, in processes of their own under a supervisor.
import { fileURLToPath } from 'node:url';
import type { Config } from '../../platform/config.ts';
import { sealingKeys } from '../../platform/config-values.ts';
import { migrate } from '../../platform/database/migrate.ts';
import { grantServiceRole } from '../../platform/database/service-role.ts';
import { createLogger } from '../../platform/logger.ts';
import { withKeys } from '../keys.ts';
import type { Environment, Output } from '../roles.ts';
import { beginAuditLog } from '../wiring/begin-audit-log.ts';
import { prepareDemoTenant } from './demo-tenant.ts';
import { runLocalStack } from './start.ts';

/** Runs until it is stopped, then stops all parts in order. */
export async function runStart(config: Config, env: Environment, { json, print }: Output): Promise<void> {
  await runLocalStack({
    config,
    main: fileURLToPath(new URL('../../main.js', import.meta.url)),
    environment: { ...env },
    migrate: async ({ url, service }, keys) => {
      await migrate(url);
      const { AUDIT_KEY } = await withKeys({ ...env, ...keys }, 'migrate');
      const settings = { ...config, databaseUrl: url, auditKeys: sealingKeys.parse(AUDIT_KEY) };
      const quiet = createLogger({ ...config, logLevel: 'warn' }, process.stderr);
      await beginAuditLog(settings, quiet.child({ role: 'start' }));
      if (service !== undefined) await grantServiceRole(url, service);
    },
    prepare: async (environment) => prepareDemoTenant(await withKeys(environment, 'command')),
    say: json ? (line) => process.stderr.write(`${line}\n`) : print,
    onReady: json ? (stack) => print(JSON.stringify({ status: 'ready', ...stack })) : undefined,
  });
}
