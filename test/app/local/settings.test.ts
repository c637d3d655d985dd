import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/platform/config.ts';

describe('the ports of a local stack', () => {
  it.each(['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'])('%s must be known: 0 is refused', (variable) => {
    const load = () => loadConfig({ [variable]: '0' }, { role: 'start' });
    expect(load).toThrow(`${variable}: must not be 0 under countersign start: choose a port from 1 to 65535`);
  });

  it('METRICS_PORT may be 0: then nobody listens there', () => {
    expect(loadConfig({ METRICS_PORT: '0' }, { role: 'start' }).metricsPort).toBe(0);
  });

  it('a role that runs alone takes any port', () => {
    const env = { PORT: '0', MASTER_KEY: Buffer.alloc(32).toString('base64') };
    expect(loadConfig(env, { role: 'api' }).port).toBe(0);
  });
});
