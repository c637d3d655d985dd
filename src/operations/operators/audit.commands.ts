// `countersign audit …`: parses options, calls the service, prints. With --json, stdout has only the answer.
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { z } from 'zod';
import type { AuditVerificationService } from '../../audit/audit-verification.service.ts';
import { textOfNote } from '../../audit/note.node.ts';
import {
  type Anchor,
  type Finding,
  parseAnchor,
  type VerificationProgress,
  type VerificationReport,
} from '../../audit/verification.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import { type CommandOutput, createProgress, useServices } from '../../platform/command-services.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { parseJson } from '../../platform/json-values.ts';

type Open = () => Promise<{
  tenants: Pick<TenantService, 'requireBySlug' | 'list'>;
  auditVerification: AuditVerificationService;
  close: () => Promise<void>;
}>;

type Options = { tenant?: string; anchors?: string; json?: true };

/** The most findings in the JSON answer; all are counted. */
const MOST_LISTED = 1_000;

/** Only the statement is read, because the other members repeat its content. */
const anchorFile = z.object({ data: z.array(z.object({ statement: z.string() })) });

/** Fills in `audit verify`. */
export function registerAuditCommands(
  audit: Command,
  { open, print, tell, fail }: CommandOutput<Open>,
): void {
  audit
    .command('verify')
    .description('recompute every checkpoint of the audit log; ends with 1 when anything was changed')
    .option('--tenant <slug>', 'only this tenant')
    .option(
      '--anchors <file>',
      'checkpoints kept elsewhere: the JSON of GET /api/v1/audit-logs/checkpoints, or one note; - for stdin',
    )
    .option('--json', 'print the object only')
    .action(async (options: Options) => {
      const anchors = options.anchors === undefined ? [] : await readAnchors(options.anchors);
      await useServices(open, async (services) => {
        const { tenants, auditVerification } = services;
        const { tenant: asked } = options;
        const tenantId = asked === undefined ? undefined : (await tenants.requireBySlug(asked)).id;
        const slugs = new Map((await tenants.list()).map(({ id, slug }) => [id, slug]));
        const listed: Finding[] = [];
        const progress = createProgress(tell);
        const report = await auditVerification.verifyAuditLog({
          tenantId,
          anchors: anchors.filter((anchor) => tenantId === undefined || anchor.tenantId === tenantId),
          onFinding: (finding) => {
            if (!options.json) print(describeFinding(finding, slugs));
            else if (listed.length < MOST_LISTED) listed.push(finding);
          },
          onProgress: (reached) => progress(() => describeProgress(reached)),
        });
        if (options.json) print(JSON.stringify(present(report, listed, slugs)));
        else for (const line of describeReport(report)) print(line);
        if (report.findings > 0) fail(1);
      });
    });
}

/** Reads checkpoints kept elsewhere, from stdin for `-`. @throws ServiceError `invalid_request` naming the file */
export async function readAnchors(file: string): Promise<Anchor[]> {
  const refuse = (why: string) => new ServiceError('invalid_request', { detail: `${file}: ${why}` });
  const read = file === '-' ? readAll(process.stdin) : readFile(file, 'utf8');
  const text = await read.catch((error: Error) => {
    throw refuse(error.message);
  });
  const note = parseAnchor(textOfNote(text));
  if (note !== undefined) return [note];
  const parsed = anchorFile.safeParse(parseJson(text));
  if (!parsed.success) throw refuse('is neither the JSON of a page of checkpoints nor a note');
  return parsed.data.data.map(({ statement }) => {
    const anchor = parseAnchor(statement);
    if (anchor === undefined) throw refuse('holds a statement that is none of a checkpoint');
    return anchor;
  });
}

/** @param slugs of the tenants, by id */
export function describeFinding(
  { kind, tenantId, rowId, checkpoint, seal, detail }: Finding,
  slugs: ReadonlyMap<string, string>,
): string {
  const about = [
    tenantId === undefined ? undefined : `tenant ${slugs.get(tenantId) ?? tenantId}`,
    checkpoint === undefined ? undefined : `checkpoint ${checkpoint}`,
    seal === undefined ? undefined : `seal ${seal}`,
    rowId === undefined ? undefined : `row ${rowId}`,
  ].filter((part) => part !== undefined);
  const whole = kind === 'beginning_changed' ? 'the beginning' : 'the head';
  return `${kind}: ${about.length === 0 ? whole : about.join(', ')}: ${detail}`;
}

/** `of` may be less than what was looked at, when seals or rows were added by hand. */
function describeProgress({ part, looked, of }: VerificationProgress): string {
  return `${part}: ${looked}${of === undefined ? '' : ` of ${Math.max(of, looked)}`} looked at`;
}

function describeReport(report: VerificationReport): string[] {
  const { tenants, checkpoints, seals, rows, findings, unsealed, sealedLate, beginning } = report;
  const read = `${rows} rows of ${tenants} ${tenants === 1 ? 'tenant' : 'tenants'}, ${checkpoints} checkpoints, ${seals} seals`;
  return [
    findings === 0 ? `The audit log is as it was sealed: ${read}.` : `${findings} findings in ${read}.`,
    `Not sealed yet, and not verified: ${unsealed.rows} rows${unsealed.oldest === null ? '' : ` (the oldest of ${unsealed.oldest})`}. A row is sealed about 2 seconds after it is written, while a worker runs.`,
    ...(beginning === null ? [] : [`The log began at ${beginning.beganAt}.`]),
    ...(sealedLate === 0
      ? []
      : [
          `${sealedLate} rows were sealed more than 10 minutes after they say they occurred: no worker ran, or they were written later.`,
        ]),
  ];
}

const present = (
  report: VerificationReport,
  listed: readonly Finding[],
  slugs: ReadonlyMap<string, string>,
) => ({
  intact: report.findings === 0,
  tenants: report.tenants,
  seals: report.seals,
  checkpoints: report.checkpoints,
  rows: report.rows,
  unsealed: report.unsealed,
  sealed_late: report.sealedLate,
  began_at: report.beginning?.beganAt,
  findings_count: report.findings,
  findings: listed.map(({ tenantId, rowId, ...finding }) => ({
    ...finding,
    tenant: tenantId === undefined ? undefined : (slugs.get(tenantId) ?? tenantId),
    row_id: rowId,
  })),
});
