// Wires the grant of token exchange (RFC 8693).
import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createExchangePartiesService } from './exchange-parties.service.ts';
import { createTokenExchangeService } from './token-exchange.service.ts';

/** @returns the grant with its `grant_type` */
export function wireTokenExchange(
  { config, database, clock }: Platform,
  rooms: Needs<typeof createTokenExchangeService, 'database' | 'parties' | 'accessTokenLifetime' | 'now'> &
    Needs<typeof createExchangePartiesService, never>,
) {
  const { grant } = createTokenExchangeService({
    ...rooms,
    database,
    parties: createExchangePartiesService(rooms),
    accessTokenLifetime: config.accessTokenLifetime,
    now: clock.now,
  });
  return [TOKEN_EXCHANGE_GRANT, grant] as const;
}
