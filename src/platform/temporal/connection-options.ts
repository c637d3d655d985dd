// Where Temporal is and how a process is known there, from the settings.
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { Config } from '../config.ts';

export type TemporalSettings = Pick<Config['temporal'], 'address' | 'port' | 'variables'>;

/**
 * Reads address, TLS and credentials from the variables of `@temporalio/envconfig`, and its configuration file only if
 * a variable names it.
 */
export function connectionOptions({ address, port, variables }: TemporalSettings) {
  const named = variables.TEMPORAL_CONFIG_FILE !== undefined || variables.TEMPORAL_PROFILE !== undefined;
  const { connectionOptions: options } = loadClientConnectConfig({
    disableFile: !named,
    overrideEnvVars: { ...variables },
  });
  const { tls, apiKey, metadata } = options;
  return {
    address: address ?? options.address ?? `127.0.0.1:${port}`,
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
