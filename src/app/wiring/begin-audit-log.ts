// The last step of `migrate`: signs the beginning of the audit log, which only a holder of the audit key can do.
import type { Logger } from 'pino';
import { AuditBeginning } from '../../audit/beginning.service.ts';
import { any } from '../../identity/tenants/tenant.store.ts';
import type { Config } from '../../platform/config.ts';
import { openPlatform } from '../../platform/opening/platform.ts';

/** Begins the log of a new installation; later calls change nothing. */
export async function beginAuditLog(config: Config, logger: Logger): Promise<void> {
  if (config.auditKeys.length === 0) {
    logger.warn(
      { event: 'audit.not_begun' },
      'the audit log is sealed only after its beginning was signed: run migrate with AUDIT_KEY',
    );
    return;
  }
  const platform = openPlatform(config, { logger, name: 'migrate' });
  const { database } = platform;
  try {
    const report = await new AuditBeginning({
      database,
      auditKeys: config.auditKeys,
      tenants: { any },
    }).begin();
    if (report.result === 'refused')
      logger.error(
        { event: 'audit.beginning_refused', reason: report.reason },
        'the beginning of the audit log was not signed, so nothing of it is sealed: see docs/audit-log.md',
      );
    else if (report.result === 'began') logger.info({ event: 'audit.began' }, 'the audit log begins');
  } finally {
    await platform.close();
  }
}
