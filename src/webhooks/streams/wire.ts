// Wires streams: their routes in an API process, and the tokens that each process signs for attempts.
import { parseNetworks } from '../../platform/egress/address-rules.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createSecurityEventService, type SecurityEventService } from './security-event.service.ts';
import { createStreamRoutes } from './stream.routes.ts';
import { createStreamService } from './stream.service.ts';
import { createStreamPollService } from './stream-poll.service.ts';

/** @param rooms `eventIssuer` signs with the keys of security event tokens */
export function wireSecurityEvents({
  tenants,
  eventIssuer,
}: Needs<typeof createSecurityEventService, 'signer'> & {
  eventIssuer: Parameters<typeof createSecurityEventService>[0]['signer'];
}) {
  return { securityEvents: createSecurityEventService({ tenants, signer: eventIssuer }) };
}

export function wireStreams(
  { config, database }: Platform,
  rooms: Needs<typeof createStreamService, 'database' | 'admittedNetworks'> & {
    securityEvents: SecurityEventService;
  },
) {
  const streams = createStreamService({
    ...rooms,
    database,
    admittedNetworks: parseNetworks(config.webhookAllowedNetworks),
  });
  const polls = createStreamPollService({ ...rooms, database });
  return { streams, routes: createStreamRoutes({ streams, polls }) };
}
