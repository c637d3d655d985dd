// The activities of tenantErasure. Each calls one use case.
import type {
  TenantEndName,
  TenantErasureService,
} from '../src/operations/erasure/tenant-erasure.service.ts';
import { currentPulse } from './pulse.ts';

export function createTenantErasureActivities({
  tenantErasure,
}: {
  tenantErasure: Pick<TenantErasureService, 'look' | 'erase'>;
}) {
  return {
    readTenantEnd: tenantErasure.look,
    eraseTenant: (name: TenantEndName) => tenantErasure.erase(name, currentPulse()),
  };
}

export type TenantErasureActivities = ReturnType<typeof createTenantErasureActivities>;
