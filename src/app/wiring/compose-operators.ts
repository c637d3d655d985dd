// The wiring of what operators do across tenants. Like compose.ts it must hold no rule of its own.
import { createHostService } from '../../operations/operators/host.service.ts';
import { createOperatorActService } from '../../operations/operators/operator-act.service.ts';
import { createSuspensionService } from '../../operations/operators/suspension.service.ts';

/** Wires the room of the operators. */
export function composeOperators({
  database,
  audit,
  tenants,
  revocations,
  endpoints,
  hostHolds,
}: Omit<Parameters<typeof createOperatorActService>[0], 'store'> &
  Omit<Parameters<typeof createSuspensionService>[0], 'acts'> & {
    hostHolds: Parameters<typeof createHostService>[0]['hosts'];
  }) {
  const acts = createOperatorActService({ database, audit });
  return {
    acts,
    suspensions: createSuspensionService({ database, tenants, revocations, endpoints, acts }),
    hosts: createHostService({ database, hosts: hostHolds, acts }),
  };
}
