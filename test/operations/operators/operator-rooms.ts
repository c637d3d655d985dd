// The room of the operators over one database: its services wired for real, and its commands run from their words.
import { Command } from 'commander';
import { ErasureCertificateService } from '../../../src/audit/erasure.service.ts';
import { registerTenantCommands } from '../../../src/identity/tenants/tenant.commands.ts';
import { registerErasureCommands } from '../../../src/operations/erasure/erasure.commands.ts';
import { TenantEndService } from '../../../src/operations/erasure/tenant-end.service.ts';
import { isEnding } from '../../../src/operations/erasure/tenant-end.store.ts';
import { TenantExportService } from '../../../src/operations/erasure/tenant-export.service.ts';
import { registerOperatedDeliveryCommands } from '../../../src/operations/operators/delivery.commands.ts';
import { registerHostCommands } from '../../../src/operations/operators/host.commands.ts';
import { HostService } from '../../../src/operations/operators/host.service.ts';
import { OperatedDeliveryService } from '../../../src/operations/operators/operated-delivery.service.ts';
import { registerOperatorCommands } from '../../../src/operations/operators/operator.commands.ts';
import { OperatorActService } from '../../../src/operations/operators/operator-act.service.ts';
import { SuspensionService } from '../../../src/operations/operators/suspension.service.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { DeliveryService } from '../../../src/webhooks/deliveries/delivery.service.ts';
import { wireEndpoints } from '../../../src/webhooks/endpoints/wire.ts';
import { createAccounts } from '../../authentication/tokens/accounts.ts';
import { AUDIT_KEYS } from '../../setup/database.ts';
import { createTestPlatform } from '../../setup/platform.ts';

export type OperatorRooms = ReturnType<typeof createOperatorRooms>;

/** @param notifier told when relays have something to do */
export function createOperatorRooms(
  database: Database,
  notifier: { poke(): void } = { poke: () => undefined },
) {
  const accounts = createAccounts(database);
  const { tenants, provisioning } = accounts;
  const platform = createTestPlatform(database, { ...accounts.platform, notifier });
  const { endpoints, hostHolds } = wireEndpoints(platform, accounts);
  const acts = new OperatorActService(accounts);
  const suspensions = new SuspensionService({ ...accounts, endpoints, acts, isEnding });
  const operators = {
    acts,
    suspensions,
    ends: new TenantEndService({ ...accounts, suspensions, acts }),
    exports: new TenantExportService({ ...accounts, acts }),
    certificates: new ErasureCertificateService({ database, auditKeys: AUDIT_KEYS }),
    operatedDeliveries: new OperatedDeliveryService({
      database,
      deliveries: new DeliveryService({ ...accounts, notifier, endpoints }),
      acts,
    }),
    workflows: { uiUrl: 'http://localhost:8233', namespace: 'countersign' },
    hosts: new HostService({ database, hosts: hostHolds, acts, tenants }),
  };

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
        tell: () => undefined,
      };
      registerTenantCommands(program.command('tenant'), runtime);
      const operator = program.command('operator');
      registerErasureCommands(registerOperatorCommands(operator, runtime), runtime);
      registerHostCommands(operator, runtime);
      registerOperatedDeliveryCommands(operator, runtime);
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
