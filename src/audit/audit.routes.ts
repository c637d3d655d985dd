// The routes of the audit log. They must never decide anything: shapes in, one service call, shapes out.
import { defineRoute, type Route } from '../platform/http/route.ts';
import {
  auditLogListQuery,
  auditLogListSchema,
  auditLogParams,
  auditLogSchema,
  checkpointListQuery,
  checkpointListSchema,
  presentAuditLog,
  presentCheckpoints,
  toRequest,
} from './audit.schemas.ts';
import type { AuditReadingService } from './audit-reading.service.ts';

const TAG = 'Audit log';

/** @param auditLogs what a tenant may read */
export function createAuditRoutes({ auditLogs }: { auditLogs: AuditReadingService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/audit-logs',
      operationId: 'listAuditLogs',
      summary: 'List what was done and tried, the newest first',
      tag: TAG,
      scope: 'audit:read',
      request: { query: auditLogListQuery },
      responses: { 200: { description: 'A page of the audit log', schema: auditLogListSchema } },
      errors: [],
      handler: async ({ context, query }) => {
        const page = await auditLogs.list(context, toRequest(query));
        return {
          status: 200,
          body: { data: page.data.map(presentAuditLog), next_cursor: page.nextCursor },
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/audit-logs/checkpoints',
      operationId: 'listAuditCheckpoints',
      summary: 'List the signed checkpoints of the audit log, the newest first: to be kept elsewhere',
      tag: TAG,
      scope: 'audit:read',
      request: { query: checkpointListQuery },
      responses: { 200: { description: 'A page of checkpoints', schema: checkpointListSchema } },
      errors: [],
      handler: async ({ context, query }) => ({
        status: 200,
        body: presentCheckpoints(await auditLogs.listCheckpoints(context, query)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/audit-logs/:id',
      operationId: 'getAuditLog',
      summary: 'Read one line of the audit log',
      tag: TAG,
      scope: 'audit:read',
      request: { params: auditLogParams },
      responses: { 200: { description: 'The line', schema: auditLogSchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentAuditLog(await auditLogs.get(context, params.id)),
      }),
    }),
  ];
}
