// `countersign operator tenant end|restore|export|certificate`: parses options, calls the service, prints. With --json,
// stdout has only the answer, and with `--out -` only the archive.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Command } from 'commander';
import type { ErasureCertificateService } from '../../audit/erasure.service.ts';
import { useServices } from '../../platform/command-services.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import {
  describeChange,
  type IntentOptions,
  readIntent,
  withIntent,
} from '../operators/operator.commands.ts';
import type { EndResult, TenantEndService } from './tenant-end.service.ts';
import type { TakeLines, TenantExportService } from './tenant-export.service.ts';

type Open = () => Promise<{
  ends: TenantEndService;
  exports: TenantExportService;
  certificates: Pick<ErasureCertificateService, 'show'>;
  close: () => Promise<void>;
}>;

/** Adds to `operator tenant`. */
export function registerErasureCommands(
  tenant: Command,
  { open, print, tell }: { open: Open; print: (line: string) => void; tell: (line: string) => void },
): void {
  const answer = (options: { json?: true; out?: string }, object: object, line: string) =>
    (options.out === '-' ? tell : print)(options.json ? JSON.stringify(object) : line);

  withIntent(
    tenant
      .command('end')
      .description('suspend a tenant, and erase everything of it after 30 days, for good')
      .argument('<slug>'),
  )
    .requiredOption('--confirm <slug>', 'the slug once more')
    .action(async (slug: string, options: IntentOptions & { confirm: string }) => {
      const intent = readIntent(options);
      if (options.confirm !== slug)
        throw new ServiceError('invalid_request', {
          detail: `--confirm: must be ${slug}, the tenant that ends`,
        });
      const result = await useServices(open, ({ ends }) => ends.end(intent, slug));
      const at = result.eraseAt?.toISOString();
      const line = result.changed
        ? `Tenant ${slug} has ended: it is refused everywhere within a second, and erased at ${at}. Until then \`operator tenant restore\` brings it back.`
        : `Tenant ${slug} has ended already, and is erased at ${at}; nothing changed.`;
      answer(options, describe(result), line);
    });

  withIntent(
    tenant
      .command('restore')
      .description('take the end of a tenant back; tokens of before stay ended')
      .argument('<slug>'),
  ).action(async (slug: string, options: IntentOptions) => {
    const intent = readIntent(options);
    const result = await useServices(open, ({ ends }) => ends.restore(intent, slug));
    const suspended = result.tenant.suspendedAt !== null;
    const line = !result.changed
      ? `Tenant ${slug} had not ended; nothing changed.`
      : suspended
        ? `Tenant ${slug} is not erased. It was suspended before it ended, and stays so.`
        : `Tenant ${slug} is served again within a second; tokens of before stay ended.`;
    answer(options, describe(result), line);
  });

  withIntent(
    tenant
      .command('export')
      .description('write all rows of a tenant, without secrets, to a file: JSON lines, compressed by gzip')
      .argument('<slug>')
      .requiredOption(
        '--out <file>',
        'a file that is not there yet, which only this user may read; - for stdout',
      ),
  ).action(async (slug: string, options: IntentOptions & { out: string }) => {
    const intent = readIntent(options);
    const rows = await useServices(open, ({ exports }) =>
      writeArchive(options.out, (take) => exports.exportTenant(intent, slug, take)),
    );
    const sum = Object.values(rows).reduce((total, n) => total + n, 0);
    answer(options, { file: options.out, rows }, `${options.out} has ${sum} rows of tenant ${slug}.`);
  });

  tenant
    .command('certificate')
    .description('show and verify the signed certificate of a tenant that is erased')
    .argument('<slug or id>')
    .option('--json', 'print the object only')
    .action(async (name: string, options: { json?: true }) => {
      const { tenantId, slug, erasedAt, note, key } = await useServices(open, ({ certificates }) =>
        certificates.show(name),
      );
      const shown = { tenant_id: tenantId, slug, erased_at: erasedAt.toISOString(), note, key };
      answer(options, shown, note.trimEnd());
    });
}

/** Nothing is left of a file that was not written to its end. @param file `-` for stdout */
async function writeArchive<Result>(
  file: string,
  read: (take: TakeLines) => Promise<Result>,
): Promise<Result> {
  const gzip = createGzip();
  const isStdout = file === '-';
  const target = isStdout ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 });
  const writing = pipeline(gzip, target);
  writing.catch(() => undefined);
  try {
    if (!isStdout) await once(target, 'open');
  } catch (error) {
    throw new ServiceError('invalid_request', { detail: `--out: ${(error as Error).message}` });
  }
  try {
    const result = await read(async (lines) => {
      if (!gzip.write(lines)) await Promise.race([once(gzip, 'drain'), writing]);
    });
    gzip.end();
    await writing;
    return result;
  } catch (error) {
    gzip.destroy();
    if (!isStdout) await rm(file, { force: true });
    throw error;
  }
}

const describe = (result: EndResult) => ({
  ...describeChange(result),
  erase_at: result.eraseAt?.toISOString() ?? null,
});
