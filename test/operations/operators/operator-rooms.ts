// The room of the operators over one database: its services wired for real, and its commands run from their words.
import { Command } from 'commander';
import { composeOperators } from '../../../src/app/wiring/compose-operators.ts';
import { registerTenantCommands } from '../../../src/identity/tenants/tenant.commands.ts';
import { registerHostCommands } from '../../../src/operations/operators/host.commands.ts';
import { registerOperatorCommands } from '../../../src/operations/operators/operator.commands.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createWorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import { createEndpointService } from '../../../src/webhooks/endpoints/endpoint.service.ts';
import { createEndpointHealthStore } from '../../../src/webhooks/endpoints/endpoint-health.store.ts';
import { createHostHoldService } from '../../../src/webhooks/endpoints/host-hold.service.ts';
import { RECOVERY_SETTINGS } from '../../../src/webhooks/endpoints/recovery-settings.ts';
import { createAccounts } from '../../authentication/tokens/accounts.ts';

export type OperatorRooms = ReturnType<typeof createOperatorRooms>;

/** @param notifier told when relays have something to do */
export function createOperatorRooms(
  database: Database,
  notifier: { poke(): void } = { poke: () => undefined },
) {
  const accounts = createAccounts(database);
  const { audit, tenants, revocations, provisioning } = accounts;
  const commands = createWorkflowCommandService();
  const health = createEndpointHealthStore(RECOVERY_SETTINGS);
  const endpoints = createEndpointService({ health, notifier, commands });
  const hostHolds = createHostHoldService({ notifier, commands });
  const operators = composeOperators({ database, audit, tenants, revocations, endpoints, hostHolds });

  return {
    ...accounts,
    ...operators,
    endpoints,

    /** Runs `countersign <args>`. @returns the lines that it printed; rejects with what it refused */
    run: async (...args: string[]): Promise<string[]> => {
      const lines: string[] = [];
      const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
      const runtime = {
        open: async () => ({ ...operators, tenants, provisioning, close: async () => undefined }),
        print: (line: string) => lines.push(line),
      };
      registerTenantCommands(program, runtime);
      registerHostCommands(registerOperatorCommands(program, runtime), runtime);
      await program.parseAsync(args, { from: 'user' });
      return lines;
    },

    /** What a tenant's audit log says that operators did, the oldest first. */
    auditOf: async (tenantId: string) => {
      const { rows } = await database.query<{
        action: string;
        actor_kind: string;
        actor_id: string | null;
        target_id: string;
        data: Record<string, unknown>;
      }>(
        `SELECT action, actor_kind, actor_id, target_id, data FROM audit_log
         WHERE tenant_id = $1 AND actor_id IS NOT NULL AND actor_kind = 'operator' ORDER BY id`,
        [tenantId],
      );
      return rows;
    },
  };
}
