// The routes of the audit log.
import { ok, page } from '../platform/http/answers.ts';
import { readFields } from '../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../platform/http/route.ts';
import {
  auditHoursQuery,
  auditHoursSchema,
  auditLogListQuery,
  auditLogListSchema,
  auditLogParams,
  auditLogSchema,
  checkpointListQuery,
  checkpointListSchema,
  consistencyProofQuery,
  consistencyProofSchema,
  inclusionProofQuery,
  inclusionProofSchema,
  presentAuditLog,
  presentCheckpoints,
  presentConsistencyProof,
  presentHours,
  presentInclusionProof,
} from './audit.schemas.ts';
import type { AuditProofService } from './audit-proof.service.ts';
import type { AuditReadingService } from './audit-reading.service.ts';

const COMMON = {
  tag: 'Audit log',
  about: 'What was done and tried, by whom, and the signed checkpoints by which a later change is found.',
  scope: 'audit:read',
} as const;

export function createAuditRoutes({
  auditLogs,
  auditProofs,
}: {
  auditLogs: AuditReadingService;
  auditProofs: AuditProofService;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/api/v1/audit-logs',
      operationId: 'listAuditLogs',
      summary: 'List what was done and tried, the newest first',
      request: { query: auditLogListQuery },
      responses: { 200: { description: 'A page of the audit log', schema: auditLogListSchema } },
      handler: async ({ context, query }) =>
        page(await auditLogs.list(context, readFields(query)), presentAuditLog),
    },
    {
      method: 'GET',
      path: '/api/v1/audit-logs/hours',
      operationId: 'countAuditHours',
      summary: "Count an actor's tokens and failures in each of the last 24 hours",
      request: { query: auditHoursQuery },
      responses: { 200: { description: 'The hours', schema: auditHoursSchema } },
      handler: async ({ context, query }) =>
        ok(presentHours(await auditLogs.countHours(context, query.actor_id))),
    },
    {
      method: 'GET',
      path: '/api/v1/audit-logs/checkpoints',
      operationId: 'listAuditCheckpoints',
      summary: 'List the signed checkpoints of the audit log, the newest first: to be kept elsewhere',
      request: { query: checkpointListQuery },
      responses: { 200: { description: 'A page of checkpoints', schema: checkpointListSchema } },
      handler: async ({ context, query }) =>
        ok(presentCheckpoints(await auditLogs.listCheckpoints(context, query))),
    },
    {
      method: 'GET',
      path: '/api/v1/audit-logs/consistency-proof',
      operationId: 'getAuditConsistencyProof',
      summary: 'Prove that the log of an earlier checkpoint is the beginning of a later one',
      request: { query: consistencyProofQuery },
      responses: { 200: { description: 'The proof', schema: consistencyProofSchema } },
      errors: ['not_found'],
      handler: async ({ context, query }) =>
        ok(presentConsistencyProof(await auditProofs.proveConsistency(context, query))),
    },
    {
      method: 'GET',
      path: '/api/v1/audit-logs/:id/inclusion-proof',
      operationId: 'getAuditInclusionProof',
      summary: 'Prove that a line is in the log of a checkpoint',
      exists: (context, { id }) => auditProofs.exists(context, id),
      request: { params: auditLogParams, query: inclusionProofQuery },
      responses: { 200: { description: 'The proof', schema: inclusionProofSchema } },
      handler: async ({ context, params, query }) =>
        ok(
          presentInclusionProof(
            await auditProofs.proveInclusion(context, { id: params.id, size: query.tree_size }),
          ),
        ),
    },
    {
      method: 'GET',
      path: '/api/v1/audit-logs/:id',
      operationId: 'getAuditLog',
      summary: 'Read one line of the audit log',
      request: { params: auditLogParams },
      responses: { 200: { description: 'The line', schema: auditLogSchema } },
      handler: async ({ context, params }) => ok(presentAuditLog(await auditLogs.get(context, params.id))),
    },
  ]);
}
